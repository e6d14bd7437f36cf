"""Help that answers: what there is, and how it is used."""

import pytest

import tailwise


@pytest.mark.parametrize(
    "command", [(), ("select",), ("evaluate",), ("train",), ("predict",), ("run",), ("data",), ("demo",)], ids=str
)
def test_help_shows_examples(run, tmp_path, command):
    done = run(tmp_path, *command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: {' '.join(('tailwise', *command))} ")
    assert "examples" in done.out
    assert not list(tmp_path.iterdir())


def test_help_names_every_utility(run, tmp_path):
    words = run(tmp_path, "select", "--help").out.replace(",", " ").replace("(", " ").split()
    assert set(tailwise.utilities.UTILITY_NAMES) <= set(words)


def test_help_of_a_run_names_the_method_on_the_tree(run, tmp_path):
    assert "greedy, or tree" in " ".join(run(tmp_path, "run", "--help").out.split())
    assert "or tree" not in run(tmp_path, "select", "--help").out


def test_version(run, tmp_path):
    done = run(tmp_path, "--version")
    assert (done.code, done.out, done.err) == (0, f"tailwise {tailwise.__version__}\n", "")
