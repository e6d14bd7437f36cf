"""The edge of the command: streams that are closed or cannot show a name, and errors that nobody expected."""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tailwise.cli.main import main
from tailwise.cli.streams import inputs_in_files, remove_temporary_folders
from tailwise.datasets import load_selection

COMMAND = (sys.executable, "-m", "tailwise.cli.program")
SECONDS = 300
SELECT = ("select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "-o")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="makes file names that are no text, as Linux allows")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="closes streams as shells of POSIX do")


def start(folder, *words, closed=(), **environment):
    """Run the command with some of its three streams closed, as a shell does by 1>&-; gives code, out and err."""

    def close():
        for number in closed:
            os.close(number)

    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=close,
    )
    return done.returncode, done.stdout, done.stderr


# Closed streams


@needs_posix
@pytest.mark.parametrize("closed", [(1,), (0, 1)], ids=str)
def test_a_closed_output_is_an_output_that_cannot_be_written(folder, closed):
    message = b"tailwise: error: The output could not be written: standard output is closed.\n"
    assert start(folder, *SELECT, "chosen.npz", closed=closed) == (3, b"", message)
    assert start(folder, "evaluate", "truth.npz", "chosen.npz", closed=closed) == (3, b"", message)


@needs_posix
@pytest.mark.parametrize("closed", [(1,), (0, 2), (0, 1, 2)], ids=str)
def test_who_prints_nothing_needs_no_stream(folder, closed):
    assert start(folder, *SELECT, "chosen.npz", "--quiet", closed=closed) == (0, b"", b"")
    assert load_selection(folder / "chosen.npz").n_instances == 200


@needs_posix
def test_with_a_closed_error_output_the_exit_code_tells(folder):
    code, out, err = start(folder, *SELECT, "chosen.npz", closed=(2,))
    assert (code, err) == (0, b"")
    assert b"200 instances written to chosen.npz" in out
    assert start(folder, *SELECT, "chosen.npz", closed=(2,)) == (2, b"", b"")  # it exists
    assert start(folder, "select", "--no-such-option", closed=(2,)) == (2, b"", b"")


@needs_posix
def test_nothing_is_written_into_files_in_place_of_closed_streams(folder):
    """An output file that got the number of a closed stream would hold what libraries print."""
    names = "import os, sys; from tailwise.cli.announce import usable_streams\nwith usable_streams():\n"
    script = names + "    print(open('new', 'w').fileno(), file=open('number', 'w'))"
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=folder, preexec_fn=lambda: os.closerange(0, 3), timeout=SECONDS, check=True)
    assert int((folder / "number").read_text()) > 2


@needs_posix
@pytest.mark.parametrize("words", [(), ("select",)], ids=str)
def test_help_for_a_closed_output(folder, words):
    code, output, errors = start(folder, *words, "--help", closed=(1,))
    # argparse ignores what it cannot print; in Python 3.10 it says so.
    assert (code, errors) == (0, b"") or (sys.version_info < (3, 11) and code == 3 and b"is closed" in errors)
    assert output == b""


# Names that cannot be shown

NAMES = {
    "no text": (b"\xff\xfe.npz", {}, rb"\udcff\udcfe.npz"),
    "Greek, ASCII asked for": ("\u03b1.npz".encode(), {"PYTHONIOENCODING": "ascii"}, rb"\u03b1.npz"),
    "Greek, Latin terminal": ("\u03b1.npz".encode(), {"PYTHONIOENCODING": "latin-1"}, rb"\u03b1.npz"),
    "Greek in C": (
        "\u03b1.npz".encode(),
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        rb"\udcce\udcb1.npz",
    ),
}


@needs_linux
@pytest.mark.parametrize(("name", "environment", "shown"), NAMES.values(), ids=NAMES)
def test_a_name_that_cannot_be_shown(folder, name, environment, shown):
    code, out, err = start(folder, *SELECT, name, **environment)
    assert (code, err) == (0, b"")
    assert out.endswith(b"200 instances written to " + shown + b"\n")
    assert os.path.exists(os.fsencode(folder) + b"/" + name)
    if "PYTHONIOENCODING" in environment:  # which tells nothing about error messages: these can show any name
        return
    code, out, err = start(folder, *SELECT, name, **environment)
    assert (code, out) == (2, b"")
    assert b"Got " + shown + b", which exists" in err


@needs_linux
def test_a_run_in_a_folder_that_cannot_be_shown(data_folder):
    place = data_folder.parent
    out = b"run-\xff"
    code, said, err = start(place, "run", "data", "-u", "macro-f1", "-k", "2", "-o", out)
    assert (code, err) == (0, b"")
    assert rb"everything is in run-\udcff" in said
    code, said, err = start(place, "report", out, "--alphas", "0,1")
    assert (code, err) == (0, b"")
    assert rb"written to run-\udcff/report.html" in said


# Errors that nobody expected


def fail_with(monkeypatch, error):
    def fail(path, **options):
        raise error

    monkeypatch.setattr("tailwise.inputs.paths.load_all_labels", fail)
    return main([*SELECT, "chosen.npz"])


INTERNAL = {
    "ValueError: odd": ValueError("odd"),
    "KeyError: 'odd'": KeyError("odd"),
    "ZeroDivisionError: odd": ZeroDivisionError("odd"),
    "RecursionError: odd": RecursionError("odd"),
    "AssertionError: ": AssertionError(),
}


@pytest.mark.parametrize(("words", "error"), INTERNAL.items(), ids=INTERNAL)
def test_an_internal_error_asks_for_a_report(folder, monkeypatch, capsys, words, error):
    monkeypatch.chdir(folder)
    assert fail_with(monkeypatch, error) == 70
    assert capsys.readouterr() == (
        "",
        f"tailwise: internal error: {words}\n"
        "  This is a bug in tailwise. Please report it with the command and its output when "
        "TAILWISE_DEBUG=1 is set.\n",
    )


@pytest.mark.parametrize(("value", "is_shown"), [("1", True), ("0", False), ("", False)])
def test_the_traceback_is_shown_when_asked_for(folder, monkeypatch, capsys, value, is_shown):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TAILWISE_DEBUG", value)
    assert main(["select", "missing.npz", *SELECT[2:], "chosen.npz"]) == 2
    err = capsys.readouterr().err
    assert ("Traceback (most recent call last)" in err) == is_shown
    assert "tailwise: error: " in err
    assert fail_with(monkeypatch, ValueError("odd")) == 70
    assert ("Traceback (most recent call last)" in capsys.readouterr().err) == is_shown


EXPECTED = {
    "overflow": (OverflowError("too large"), 2, "A number is too large (too large)"),
    "overflow of the system": (OverflowError(34, "out of range"), 2, "too large (out of range)"),
    "memory": (MemoryError(), 3, "There is not enough memory. Use fewer"),
    "memory needed": (MemoryError("Unable to allocate 3 GiB"), 3, "not enough memory: Unable to allocate 3 GiB. Use"),
    "memory, as the system says it": (OSError(12, "Cannot allocate memory"), 3, "There is not enough memory"),
    "a name": (OSError(36, "File name too long", "a.npz"), 2, "a.npz could not be read or written: File name"),
    "a file": (
        PermissionError(13, "Permission denied", "a.npz"),
        3,
        "a.npz could not be read or written: Perm",
    ),
    "no file": (OSError(28, "No space left on device"), 3, "The output could not be written: No space left on device"),
    "pipe": (BrokenPipeError(), 141, ""),
    "Ctrl-C": (KeyboardInterrupt(), 130, "tailwise: interrupted"),
}


@pytest.mark.parametrize(("error", "code", "words"), EXPECTED.values(), ids=EXPECTED)
def test_errors_of_the_system(folder, monkeypatch, capsys, error, code, words):
    monkeypatch.chdir(folder)
    assert fail_with(monkeypatch, error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == (1 if words else 0)


class Broken:
    """A standard error that cannot be written."""

    encoding, errors, closed = "utf-8", "strict", False

    def isatty(self):
        return False

    def flush(self):
        raise BrokenPipeError

    def write(self, text):
        raise BrokenPipeError


def test_an_error_output_that_cannot_be_written(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stderr", Broken())
    assert main(["select", "missing.npz", *SELECT[2:], "chosen.npz"]) == 2


def test_the_help_names_the_exit_codes(run, tmp_path):
    words = run(tmp_path, "--help").out
    assert "  70   internal error" in words
    assert "TAILWISE_DEBUG=1" in words


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_closed_output_for_the_selection(folder):
    words = f"exec {sys.executable} -m tailwise.cli.program select probabilities.npz -u macro-f1 -k 3 -o - >&-"
    done = subprocess.run(["sh", "-c", words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "standard output is closed" in done.stderr) == (3, True), done.stderr


def test_folders_of_streams_are_removed_when_the_process_ends_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"instance,label\n")))
    with inputs_in_files("-") as files:
        assert Path(files[0]).is_file()
        remove_temporary_folders()
        assert not list(tmp_path.iterdir())
    with inputs_in_files("a.npz") as files:
        assert (files, list(tmp_path.iterdir())) == (["a.npz"], [])
