"""What other systems than Linux lack is not used: it is taken away here, and the main paths are run without it.

This simulates macOS and Windows as far as one system can: modules and functions that they lack are gone, a file cannot
be replaced while it is open (Windows), and text without a stated encoding is ASCII.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tailwise

SOURCES = sorted(Path(tailwise.__file__).parent.rglob("*.py"))
SECONDS = 600
MODULES = ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog")
# fmt: off
FUNCTIONS = (
    "sched_getaffinity", "sched_setaffinity", "fork", "forkpty", "getuid", "geteuid", "getgid", "getegid",
    "getpgid", "setsid", "killpg", "mkfifo", "mknod", "chown", "fchown", "lchown", "statvfs", "getloadavg",
    "nice", "openpty", "posix_fallocate", "posix_fadvise", "sendfile", "sync", "wait3", "wait4", "eventfd",
    "memfd_create", "copy_file_range", "splice", "pidfd_open", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
    "O_TMPFILE", "O_PATH", "O_SYNC",
)
SIGNALS = (
    "SIGKILL", "SIGHUP", "SIGPIPE", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGQUIT", "SIGWINCH", "alarm",
    "setitimer", "pause", "pthread_kill",
)
# fmt: on

ELSEWHERE = f"""
import os, signal, sys, warnings

for name in {MODULES}:
    sys.modules[name] = None
for name in {FUNCTIONS}:
    if hasattr(os, name):
        delattr(os, name)
for name in {SIGNALS}:
    if hasattr(signal, name):
        delattr(signal, name)

really_replace = os.replace


def replace(source, target):
    open_files = [os.path.realpath(f"/proc/self/fd/{{number}}") for number in os.listdir("/proc/self/fd")]
    mapped = [line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8")]
    for path in map(os.path.realpath, (source, target)):
        if path in open_files or path in mapped:
            raise PermissionError(13, "The process cannot access the file because it is being used", path)
    really_replace(source, target)


if os.path.isdir("/proc/self/fd"):
    os.replace = replace
warnings.simplefilter("ignore")  # of libraries
warnings.filterwarnings("error", category=EncodingWarning, module="tailwise")
"""

PYTHON = """
import numpy as np
import tailwise as tw

rng = np.random.default_rng(0)
P = np.round(rng.random((40, 8)) ** 3, 3)
T = (rng.random((40, 8)) < P).astype(np.int8)
T[:8] += np.eye(8, dtype=np.int8)
T = np.minimum(T, 1)
X = T @ rng.random((8, 12)) + 0.1 * rng.random((40, 12))
names = tw.datasets.LabelNames([f"W\\u00f6rter {j}" for j in range(8)])

selection = tw.select(P, "macro-f1", 2, workers=2)
print("certificate", tw.certify(P, "macro-f1", 2, selection).upper >= selection.expected)
print("evaluation", 0 < tw.evaluate(T, selection)["macro-f1"] <= 1)
for suffix in ("npz", "jsonl", "txt", "parquet", "jsonl.gz"):
    for _ in range(2):
        tw.datasets.save_selection(f"chosen.{suffix}", selection, probabilities=P)
        tw.datasets.save(f"probabilities.{suffix}", P)
    found = tw.datasets.load_selection(f"chosen.{suffix}", n_labels=8).to_csr()
    print(suffix, (found != selection.to_csr()).nnz, abs(tw.datasets.load(f"probabilities.{suffix}") - P).max() < 1e-6)
tw.datasets.save_label_names("labels.txt", names)
print("names", tw.datasets.load_label_names("labels.txt") == names)
model = tw.LabelTree(leaf_size=4, n_jobs=2).fit(X, T)
for _ in range(2):
    model.save("model.tree")
loaded = tw.LabelTree.load("model.tree")
print("tree", (loaded.predict_proba(X, top=3) != model.predict_proba(X, top=3)).nnz)
tw.Calibrator().fit(P, T).save("calibrator.npz")
print("calibrator", tw.Calibrator.load("calibrator.npz").transform(P).shape)

from pathlib import Path
data = Path("data")
data.mkdir()
for part in ("trn", "tst"):
    tw.datasets.save(data / f"X.{part}.npz", X)
    tw.datasets.save(data / f"Y.{part}.npz", T)
tw.datasets.save_label_names(data / "labels.txt", names)
"""
EXPECTED = """\
certificate True
evaluation True
npz 0 True
jsonl 0 True
txt 0 True
parquet 0 True
jsonl.gz 0 True
names True
tree 0
calibrator (40, 8)
"""

COMMANDS = (
    "select probabilities.npz -u macro-f1 -k 2 -o first.npz",
    "select probabilities.npz -u macro-f1 -k 2 -o first.npz --overwrite",
    "select probabilities.npz -u coverage -k 2 -o named.jsonl --label-names labels.txt --certify",
    "evaluate data/Y.tst.npz first.npz",
    "train data -o first.tree --leaf-size 4",
    "predict first.tree data/X.tst.npz -o predicted.npz --top 3",
    "run data -u macro-f1 -k 2 -o run --leaf-size 4",
    "run data -u macro-f1 -k 2 -o run --leaf-size 4 --overwrite",
    "report run --alphas 0,1",
    "data info data",
)


def start(folder, script):
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", ELSEWHERE + script],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.stderr.decode("utf-8"), done.returncode) == ("", 0)
    return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the main paths of Python were run without what other systems lack."""
    folder = tmp_path_factory.mktemp("elsewhere")
    pytest.importorskip("pyarrow")
    assert start(folder, PYTHON) == EXPECTED
    return folder


def test_python_runs_without_what_other_systems_lack(folder):
    assert (folder / "model.tree").is_file()


def test_commands_run_without_what_other_systems_lack(folder):
    pytest.importorskip("plotly")
    script = f"from tailwise.cli.main import main\nfor words in {COMMANDS}:\n    print('code', main(words.split()))"
    lines = start(folder, script).splitlines()
    assert [line for line in lines if line.startswith("code")] == ["code 0"] * len(COMMANDS)
    assert b"\r" not in (folder / "run" / "run.json").read_bytes()


# What cannot be taken away in a process can be looked for.


def names_of(path):
    """Modules that a file imports, and names that it takes from os and signal."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "", *(alias.name for alias in node.names))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal"):
            yield node.attr
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("/dev/", "/proc"))
        ):
            yield node.value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_file_needs_what_other_systems_lack(path):
    missing = {*MODULES, *FUNCTIONS, *SIGNALS}
    found = {name for name in names_of(path) if name in missing or name.startswith("/")}
    assert found == set()


def list_text_files(path):
    """Calls that read or write text by name, with the words that they are given."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg for word in node.keywords}
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        modes = [each.value for word in node.args[1:2] for each in ast.walk(word) if isinstance(each, ast.Constant)]
        if name in ("read_text", "write_text"):
            yield name == "write_text", words
        elif isinstance(node.func, ast.Name) and name == "open" and not any("b" in mode for mode in modes):
            yield any(letter in mode for mode in modes for letter in "wax"), words


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_text_files_are_the_same_everywhere(path):
    """Encodings and line ends of text differ between systems, unless they are stated."""
    for is_written, words in list_text_files(path):
        assert words >= ({"encoding", "newline"} if is_written else {"encoding"})


TESTS = sorted(set(Path(__file__).parent.rglob("test_*.py")) - {Path(__file__)})
SPECIAL = ("symlink_to", "mkfifo", "preexec_fn", "send_signal", "/dev/", "/proc/")


def is_test(node):
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test_")


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_a_test_that_needs_a_system_says_so(path):
    """By a mark that skips it elsewhere."""
    functions = [each for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_test(each)]
    for function in functions:
        body = "\n".join(ast.unparse(line) for line in function.body)
        if any(name in body for name in SPECIAL) and "start_on_terminal" not in ast.unparse(function.args):
            marks = " ".join(ast.unparse(mark) for mark in function.decorator_list)
            assert "skipif" in marks or "needs_" in marks, function.name
