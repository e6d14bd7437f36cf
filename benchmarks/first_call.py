"""The first call of a new user: fresh processes with empty caches of compiled code, compared with xCOLUMNs."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import scipy.sparse as sp
from harness import Result
from matrices import zipf_matrix
from peers import find_interpreter

REPEATS = 3
ASKED_SECONDS, ASKED_RATIO, ASKED_MORE, ASKED_SECOND, ASKED_COMMAND = 15.0, 0.7, 10.0, 2.0, 0.9
OURS = """
import sys, numpy as np, scipy.sparse as sp, tailwise as tw
P = sp.load_npz(sys.argv[1]).astype(np.float64)
{call}
"""
DEFAULT = 'tw.select(P, "macro-f1", 3)'
THEIRS = """
import sys, numpy as np, scipy.sparse as sp
from xcolumns.block_coordinate import predict_optimizing_macro_f1_score_using_bc as predict
predict(sp.csr_matrix(sp.load_npz(sys.argv[1])).astype(np.float64), k=3)
"""
# Other first calls, when the default call is compiled.
MORE = {
    "row ascent": 'tw.select(P, "macro-f1", 3, method="ascent")',
    "coverage": 'tw.select(P, "coverage", 3)',
    "no budget": 'tw.select(P, "macro-f1", None)',
    "certify": 'tw.select(P, "macro-f1", 3, certify=True)',
    "float32": 'tw.select(P.astype(np.float32), "macro-f1", 3)',
    "dense": 'tw.select(P.toarray(), "macro-f1", 3)',
    "int64 indices": "P.indices, P.indptr = P.indices.astype(np.int64), P.indptr.astype(np.int64); " + DEFAULT,
    "evaluate": "tw.evaluate((P > 0.5).astype(int), tw.select(P, 'macro-f1', 3))",
    "label tree": "X = P[:, :50]; tw.LabelTree().fit(X, (P > 0.5).astype(int)).predict_proba(X)",
}


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "small.npz")
        sp.save_npz(given, zipf_matrix(500, 300, 20))
        ours, theirs = measure_pairs(given, Path(folder))
        yield judge_first(ours, theirs)
        yield from measure_more(given, Path(folder))
        yield from measure_second(given, Path(folder))


def measure_pairs(given: Path, folder: Path) -> tuple[list[float], list[float]]:
    """Wall seconds of whole processes, in turns, each with an empty cache; the last cache of ours is kept as `warm`."""
    ours, theirs = [], []
    for _ in range(REPEATS):
        shutil.rmtree(folder / "warm", ignore_errors=True)
        ours.append(time_call(sys.executable, OURS.format(call=DEFAULT), given, folder / "warm"))
        theirs.append(time_call(find_interpreter(), THEIRS, given, folder / "peer"))
        shutil.rmtree(folder / "peer", ignore_errors=True)
    return ours, theirs


def judge_first(ours: list[float], theirs: list[float]) -> Result:
    seconds, ratio = statistics.median(ours), statistics.median(ours) / statistics.median(theirs)
    return Result(
        "first default call, empty cache",
        f"at most {ASKED_SECONDS:g} s, {ASKED_RATIO:g} times xCOLUMNs'",
        f"{seconds:.1f} s, {ratio:.2f} times xCOLUMNs' {statistics.median(theirs):.1f} s",
        seconds <= ASKED_SECONDS and ratio <= ASKED_RATIO,
        {"ours": ours, "theirs": theirs},
    )


def measure_more(given: Path, folder: Path) -> Iterator[Result]:
    for name, call in MORE.items():
        cache = folder / "copy"
        shutil.copytree(folder / "warm", cache)
        seconds = time_call(sys.executable, OURS.format(call=call), given, cache)
        shutil.rmtree(cache)
        yield Result(
            f"then the first call of: {name}",
            f"at most {ASKED_MORE:g} s",
            f"{seconds:.1f} s",
            seconds <= ASKED_MORE,
            {"seconds": seconds},
        )


def measure_second(given: Path, folder: Path) -> Iterator[Result]:
    """Second runs, compared with the unavoidable imports."""
    python, script = sys.executable, OURS.format(call=DEFAULT)
    calls = [time_call(python, script, given, folder / "warm") for _ in range(7)]
    imports = [time_call(python, "import numba, scipy.sparse", given, folder / "warm") for _ in range(7)]
    yield judge_second("second default call, from a fresh interpreter", calls, imports, ASKED_SECOND)
    program = "import sys; del sys.argv[1]; from tailwise.cli.program import run; run()"
    out = folder / "out.npz"
    options = ["select", str(given), "-u", "macro-f1", "-k", "3", "-o", str(out), "--overwrite", "--quiet"]
    time_call(python, program, given, folder / "warm", *options)
    commands = [time_call(python, program, given, folder / "warm", *options) for _ in range(7)]
    yield judge_second("second run of `tailwise select`", commands, imports, ASKED_COMMAND)


def judge_second(name: str, calls: list[float], imports: list[float], asked: float) -> Result:
    seconds, ratio = statistics.median(calls), statistics.median(calls) / statistics.median(imports)
    return Result(
        name,
        f"at most {asked:g} s",
        f"{seconds:.2f} s, {ratio:.2f} times `import numba, scipy.sparse`",
        seconds <= asked,
        {"calls": calls, "imports": imports},
    )


def time_call(python: Path | str, script: str, given: Path, cache: Path, *arguments: str) -> float:
    """Wall seconds of a process that keeps compiled code in this folder alone."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"NUMBA_CACHE_DIR": str(cache), "PYTHONWARNINGS": "ignore"}
    start = time.perf_counter()
    subprocess.run([python, "-c", script, given, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
