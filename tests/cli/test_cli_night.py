"""In a nightly job: configuration files, output for programs, messages in a log, signals, exit codes."""

import itertools
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tailwise as tw
from tailwise import progress
from tailwise.cli import signals as cli_signals
from tailwise.cli.main import main
from tailwise.datasets import load_selection
from tailwise.doctor import EXTRAS

SELECT = ["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "-o", "chosen.npz"]


@pytest.fixture
def place(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


# Output for programs


def test_select_as_json(place, capsys):
    assert main([*SELECT, "--certify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    selection = tw.select("probabilities.npz", "macro-f1", 3, certify=True)
    assert found["expected"] == selection.expected
    assert found["certificate"]["upper"] == selection.certificate.upper
    assert (found["command"], found["k"], found["n_instances"], found["method"]) == ("select", 3, 200, "global")
    assert found["versions"]["numpy"] == np.__version__


def test_evaluate_as_json(place, capsys):
    main([*SELECT, "--quiet"])
    words = ["evaluate", "truth.npz", "chosen.npz", "--priors", "training.npz", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["macro-f1"] == tw.evaluate("truth.npz", "chosen.npz")["macro-f1"]
    assert [each["name"] for each in found["by_frequency"]] == ["tail (<= 10)", "torso (<= 100)", "head (> 100)"]


def test_json_is_printed_although_quiet(place, capsys):
    assert main([*SELECT, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["converged"] is True


# Configuration


def write(text):
    Path("night.toml").write_text(text)
    return ["select", "--config", "night.toml", "-o", "chosen.npz"]


def test_options_come_from_a_file_and_those_given_win(place, capsys):
    text = 'utility = "macro-f1"\nk = 3\nseed = 7\n[select]\nprobabilities = "probabilities.npz"\n[evaluate]\nk = 9\n'
    assert main([*write(text), "--json", "-k", "2", "--seed", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["utility"], found["k"], found["seed"]) == ("macro-f1", 2, 0)
    assert load_selection("chosen.npz").labels.shape == (200, 2)


def test_flags_lists_and_budgets_in_a_file(place, capsys):
    main([*SELECT, "--quiet"])
    Path("e.toml").write_text('metric = ["macro-f1", "coverage"]\ntruth = "truth.npz"\nselection = "chosen.npz"\n')
    assert main(["evaluate", "--config", "e.toml", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["metrics"]) == {"macro-f1", "coverage"}
    assert main(["evaluate", "--config", "e.toml", "--json", "-m", "precision"]) == 0
    assert set(json.loads(capsys.readouterr().out)["metrics"]) == {"precision"}
    text = 'probabilities = "probabilities.npz"\nutility = "macro-f1"\nk = "none"\noverwrite = true\njson = true\n'
    assert main(write(text)) == 0
    assert json.loads(capsys.readouterr().out)["k"] is None


def test_one_file_serves_two_commands(place, capsys):
    text = 'utility = "macro-f1"\nk = 2\nprobabilities = "probabilities.npz"\nmetric = ["coverage"]\nmax_passes = 9\n'
    assert main([*write(text), "--quiet"]) == 0
    assert main(["evaluate", "truth.npz", "chosen.npz", "--config", "night.toml", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["metrics"]) == {"coverage"}


FAULTS = {
    "unknown table": (
        "k = 3\n[selct]\nk = 2\n",
        "night.toml, line 2: [selct] is not a command of tailwise. Did you",
    ),
    "no such table": (
        "[xyz]\n",
        "line 1: [xyz] is not a command of tailwise. There are: calibrate, certify, convert,",
    ),
    "dotted table": (
        "[ selct . x ]\n",
        "line 1: [selct] is not a command of tailwise. Did you mean [select]?",
    ),
    "inline table": ("selct = {k = 2}\n", "night.toml: [selct] is not a command of tailwise. Did you mean [select]?"),
    "key of another": (
        "[select]\nalphas = '0'\n",
        "line 2: alphas is not an option of tailwise select. It has",
    ),
    "unknown key": ("k = 3\nutilty = 'x'\n", "night.toml, line 2: utilty is not an option of tailwise select. Did you"),
    "name in the help": ("probs = 'x'\n", "probs is not an option of tailwise select. Did you mean probabilities?"),
    "letter of an option": ("u = 'x'\n", "u is not an option of tailwise select. Did you mean utility?"),
    "no such key": (
        "\nzzz = 3\n",
        "is not an option of tailwise select. It has: certify, checkpoint, columns, condition-",
    ),
    "text for a number": ("seed = 'a'\n", "night.toml, line 1: seed must be an integer. Got 'a'."),
    "number for text": ("utility = 3\n", "line 1: utility must be text. Got 3."),
    "true for a number": ("top = true\n", "line 1: top must be an integer. Got True."),
    "text for a flag": ("certify = 'yes'\n", "line 1: certify must be true or false. Got 'yes'."),
    "odd budget": ("k = 'many'\n", "line 1: k must be an integer, or none for no budget. Got 'many'."),
    "odd choice": ("[select]\nlog-format = 'xml'\n", "line 2: log-format must be one of text, json. Got 'xml'."),
    "no TOML": ("k = \n", "night.toml must be a TOML file. Reading it failed: Invalid value (at line 1, column 5)"),
}


@pytest.mark.parametrize(("text", "words"), FAULTS.values(), ids=FAULTS)
def test_a_file_with_a_fault(place, capsys, text, words):
    assert main(write(text)) == 2
    assert words in capsys.readouterr().err
    assert not (place / "chosen.npz").exists()


def test_the_folder_that_the_help_calls_dir(place, capsys):
    Path("run.toml").write_text("dir = 'data'\n")
    assert main(["run", "--config", "run.toml"]) == 2
    assert "dir is not an option of tailwise run. Did you mean data?" in capsys.readouterr().err


def test_lists_in_a_file_are_checked(place, capsys):
    Path("e.toml").write_text("propensity = [0.55]\n")
    assert main(["evaluate", "truth.npz", "truth.npz", "--config", "e.toml"]) == 2
    assert "e.toml, line 1: propensity must be a list of 2 values. Got [0.55]." in capsys.readouterr().err


def test_a_file_that_is_no_text_or_not_there(place, capsys):
    Path("night.toml").write_bytes(b"\xff")
    assert main([*SELECT, "--config", "night.toml"]) == 2
    assert "night.toml must be a TOML file in UTF-8." in capsys.readouterr().err
    assert main([*SELECT, "--config", "none.toml"]) == 2
    assert "none.toml does not exist. Check the spelling" in capsys.readouterr().err


def test_the_flag_must_be_written_in_full(place, capsys):
    write("k = 3\n")
    with pytest.raises(SystemExit):
        main([*SELECT, "--confi", "night.toml"])
    assert "--config must be written in full, and once" in capsys.readouterr().err


QUICK = ("--model", "tree", "--max-epochs", "3", "--arity", "4", "--leaf-size", "8")


@pytest.mark.parametrize(
    "more", [(), ("--calibration", "platt", "--no-normalise", "--tolerance", "1e-5", "--init", "greedy")], ids=str
)
def test_a_run_is_repeated_from_its_configuration(data_folder, monkeypatch, capsys, more):
    monkeypatch.chdir(data_folder.parent)
    assert main(["run", "data", "-u", "macro-f1", "-k", "2", "-o", "first", "--seed", "3", *QUICK, *more]) == 0
    assert main(["run", "--config", "first/run.toml", "-o", "second", "--quiet"]) == 0
    for name in ("selection.npz", "probabilities.npz", "run.toml"):
        assert Path("first", name).read_bytes() == Path("second", name).read_bytes()
    capsys.readouterr()
    before = Path("second/run.json").stat().st_mtime_ns
    assert main(["run", "--config", "first/run.toml", "-o", "second", "--json"]) == 0  # finished: nothing to do
    assert json.loads(capsys.readouterr().out)["configuration"]["k"] == 2
    assert Path("second/run.json").stat().st_mtime_ns == before
    assert main(["run", "--config", "first/run.toml", "-o", "second", "-k", "3"]) == 2
    assert "Got second, which exists." in capsys.readouterr().err


# Messages


def test_messages_as_json(place, capsys):
    assert main([*SELECT, "--log-format", "json", "-k", "61"]) == 2
    line = json.loads(capsys.readouterr().err)
    assert line["level"] == "error"
    assert line["message"].startswith("-k must be an integer between 1 and 60")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["time"])


def test_a_hostile_name_cannot_forge_a_line_or_steer_a_terminal(place, capsys):
    assert main(["select", "a\ntailwise: all is well\x1b[2J", *SELECT[2:]]) == 2
    err = capsys.readouterr().err
    assert "\n  tailwise: all is well\\x1b[2J" in err
    assert "\x1b" not in err


def test_lines_of_progress_off_a_terminal(monkeypatch, caplog):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO, "tailwise.progress"):
        bar = progress.track(range(4), title="training", unit="jobs", shown=True)
        for _ in bar:
            bar.set_postfix(value=3, refresh=False)
            now[0] += 6
    assert [record.getMessage() for record in caplog.records] == [
        "training: 2 of 4 jobs, value 3, 12 s",
        "training: 4 of 4 jobs, value 3, 24 s",
    ]


def test_every_stage_is_reported_on_request(place, capsys):
    assert main([*SELECT, "--verbose"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " passes, value " in line]
    assert all(re.fullmatch(r"tailwise: [a-z-]+: \d+ passes, value 0\.\d+, moved \d+, \d+ s", line) for line in lines)
    stages = [line.split(":")[1] for line in lines]
    assert {" rows", " labels", " proof"} <= set(stages)
    assert all(before != after for before, after in itertools.pairwise(stages))  # one line each, however many passes


def test_the_last_step_is_reported_in_detail(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.DEBUG, "tailwise.progress"):
        for _ in progress.track(range(5), title="training", unit="jobs", shown=True):
            now[0] += 0.6
    steps = ["training: 2 of 5 jobs, 1 s", "training: 4 of 5 jobs, 2 s", "training: 5 of 5 jobs, 3 s"]
    assert [record.getMessage() for record in caplog.records] == steps


# Signals, time and the machine


def test_not_in_time(place, capsys):
    assert main([*SELECT, "--max-seconds", "1e-6"]) == 4
    assert "stopped after --max-seconds 1e-06; the best selection so far was written" in capsys.readouterr().err
    assert load_selection("chosen.npz").labels.shape == (200, 3)
    assert main([*SELECT, "--max-seconds", "100", "--overwrite"]) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_exit_codes(place, monkeypatch, capsys, number, code):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("tailwise.inputs.paths.load_all_labels", lambda *_, **__: signal.raise_signal(number))
    monkeypatch.setattr(signal, "SIG_IGN", None)  # where tests run in the background
    monkeypatch.setattr(cli_signals, "PATIENCE", 300)  # or the tests end
    assert main(SELECT) == code
    assert "tailwise: interrupted" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_during_an_import_comes_again():
    noted = cli_signals.Signals()
    frame = type("Frame", (), {"f_code": type("Code", (), {"co_filename": "<frozen importlib._bootstrap>"})})
    came = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        noted.note(signal.SIGTERM, frame)
        deadline = time.monotonic() + 5
        while not came and time.monotonic() < deadline:
            time.sleep(0.01)
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


STUCK = """
import ctypes, sys, threading
from tailwise.cli.main import main
import tailwise.inputs.paths as paths

def stay_in_compiled_code(*arguments, **options):
    print("reading", flush=True)
    ctypes.CDLL(None).poll(None, 0, 60000)  # which the interpreter cannot interrupt

def stay_whatever_comes(*arguments, **options):
    for seconds in 60, 60, 60:  # as where a thread must end first, which never does
        try:
            print("reading", flush=True)
            threading.Event().wait(seconds)
        except KeyboardInterrupt:
            pass

paths.load_all_labels = {stay}
sys.exit(main(sys.argv[1:]))
"""


def start_stuck(stay, *options):
    ignored = {signal.SIGINT: signal.SIG_DFL}
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK.replace("{stay}", stay), *SELECT, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": ""},
        preexec_fn=lambda: [signal.signal(*pair) for pair in ignored.items()],
    )
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGTERM)
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="calls a function of the C library")
@pytest.mark.parametrize("stay", ["stay_in_compiled_code", "stay_whatever_comes"])
def test_nothing_delays_the_end(place, stay):
    _, err = (process := start_stuck(stay)).communicate(timeout=20)
    assert (process.returncode, err) == (143, "tailwise: interrupted\n")
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(sys.platform != "linux", reason="watches signals through a pipe")
def test_a_second_signal_ends_what_would_keep_something(place):
    process = start_stuck("stay_whatever_comes", "--keep-partial")
    assert process.stdout.readline() == "reading\n"  # after the first signal, with all the time it takes
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.2 * cli_signals.PATIENCE)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "tailwise: interrupted\n")


def test_json_and_csv_do_not_share_standard_output(place, capsys):
    assert main([*SELECT[:-1], "-", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "tailwise: error: --json and -o - must not both write to standard output. Got both. Use -o FILE, or omit "
        "--json.\n"
    )


def test_the_doctor(place, capsys):
    assert main(["doctor"]) == 0
    assert "self-test      passed in" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["self_test"]["passed"]
    assert found["problems"] == []


def test_the_doctor_knows_all_extras_of_the_package():
    """All but those for work on the project itself."""
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {*EXTRAS} == {*project["optional-dependencies"]} - {"docs", "test"}


def test_the_doctor_finds_fault(place, capsys, monkeypatch):
    monkeypatch.setattr("tailwise.kernels.code_folders.find_writable", lambda: None)
    monkeypatch.setattr("tailwise.doctor.RIGHT_ANSWER", [])
    monkeypatch.setattr("tailwise.doctor._find_limit", lambda: 1.0)
    assert main(["doctor"]) == 3
    out = capsys.readouterr().out
    assert "problem: The self-test chose wrong labels." in out
    assert "problem: No folder for compiled code is writable. Set NUMBA_CACHE_DIR" in out
    assert "problem: This process may use less than 2 GB of memory." in out


def test_a_parquet_file_for_which_there_is_no_memory(place, capsys, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    tw.save("probabilities.parquet", tw.load("probabilities.npz"))

    def fail(*arguments, **options):
        msg = "malloc of size 268435456 failed"
        raise pyarrow.ArrowMemoryError(msg)

    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", fail)
    assert main(["select", "probabilities.parquet", *SELECT[2:]]) == 3
    assert "must fit in memory. It does not: malloc of size 268435456 failed." in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names a file system of Linux")
def test_the_file_system_that_is_full_is_named(tmp_path):
    from tailwise.datasets.formats.disk_failures import file_error, find_remedy, is_of_the_machine
    from tailwise.errors import FileError, MachineError

    full = OSError(28, "No space left on device")
    mount = tmp_path
    while not os.path.ismount(mount):
        mount = mount.parent
    assert find_remedy(full, tmp_path / "a.npz").startswith(f"The file system at {mount} is full: ")
    assert find_remedy(OSError(28, "", "/proc/self/x"), tmp_path).startswith("The file system at /proc is full")
    assert find_remedy(full) == "Free some space."
    assert find_remedy(OSError(13, ""), tmp_path) == find_remedy(OSError(2, ""), tmp_path) == "Choose another folder."
    assert type(file_error("x", full)) is MachineError
    assert type(file_error("x", OSError(36, ""))) is FileError
    assert is_of_the_machine(MachineError("x"))


def test_the_log_in_json_ends_with_the_summary(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    command = ["select", "probabilities.npz", "-u", "precision", "-k", "1", "-o", "logged.npz"]
    assert main([*command, "--log-format", "json", "--verbose"]) == 0
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert last["level"] == "info"
    assert "logged.npz" in last["message"]
