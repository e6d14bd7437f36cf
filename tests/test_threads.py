"""Results do not depend on the number of threads, and the number is left as it was found."""

import json
import os
import subprocess
import sys

import numba
import pytest

from tailwise.engines import threads
from tailwise.errors import InputError

SECONDS = 100

# Numba takes its number of threads once, when it is imported: so in a process of its own, whatever the machine has.
NUMBERS = """
import json, numba
from tailwise.engines import threads

def inside(workers):
    with threads(workers) as parallel:
        return numba.get_num_threads(), parallel

found = {}
for workers in (None, 1, 2, 3, 4, 9):
    numba.set_num_threads(3)
    found[str(workers)] = (*inside(workers), numba.get_num_threads())
with threads(2):
    with threads(4):
        pass
    found["nested"] = numba.get_num_threads()
try:
    with threads(2):
        raise KeyboardInterrupt
except KeyboardInterrupt:
    found["after failure"] = numba.get_num_threads()
print(json.dumps(found))
"""

SELECTIONS = """
import hashlib, json, sys
import tailwise as tw
from tailwise.datasets import zipf_candidates

PROBABILITIES = zipf_candidates(2000, 500, 20)
PROBLEMS = {
    "macro-f1": {"utility": "macro-f1", "k": 3},
    "macro-f1, batches of one": {"utility": "macro-f1", "k": 3, "batch": 1, "max_passes": 3},
    "coverage": {"utility": "coverage", "k": 3},
    "mixture": {"utility": "0.7*precision + 0.3*macro-f1", "k": 5, "init": "random"},
    "precision": {"utility": "precision", "k": 5},
    "no budget": {"utility": "macro-f1", "k": None},
}

def digest(problem, workers):
    selection = tw.select(PROBABILITIES, **PROBLEMS[problem], workers=workers)
    content = selection.labels.tobytes() + repr((selection.expected, selection.history, selection.passes)).encode()
    return hashlib.sha256(content).hexdigest()
"""

WORKERS = """
print(json.dumps({problem: [digest(problem, workers) for workers in (1, 2, 4, None)] for problem in PROBLEMS}))
"""

FORK = """
import multiprocessing

def child(results):
    results.put([digest("macro-f1", 1), digest("coverage", 1)])

before = [digest("macro-f1", 4), digest("coverage", 1)]
context = multiprocessing.get_context("fork")
results = context.Queue()
process = context.Process(target=child, args=(results,), daemon=True)
process.start()
print(json.dumps([before, results.get(timeout=60)]))
process.join()
sys.exit(process.exitcode)
"""


def run(program, n_threads=4):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_NUM_THREADS": str(n_threads)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def numbers():
    return run(NUMBERS)


@pytest.fixture(scope="module")
def digests():
    return run(SELECTIONS + WORKERS)


@pytest.mark.parametrize(("workers", "inside"), [("None", 4), ("2", 2), ("3", 3), ("4", 4), ("9", 4)])
def test_the_number_holds_for_a_while(numbers, workers, inside):
    assert numbers[workers] == [inside, True, 3]


def test_one_worker_leaves_the_threads_alone(numbers):
    assert numbers["1"] == [3, False, 3]


def test_the_number_comes_back(numbers):
    assert numbers["nested"] == 2
    assert numbers["after failure"] == 3


def test_a_machine_with_one_thread():
    program = "from tailwise.engines import threads\nwith threads(None) as parallel: print(str(parallel).lower())"
    assert run(program, n_threads=1) is False


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_bad_numbers_are_refused(workers):
    before = numba.get_num_threads()
    message = f"workers must be an integer of at least 1, or None for all cores. Got {workers!r}."
    with pytest.raises(InputError) as caught, threads(workers):
        pass
    assert str(caught.value) == message
    assert numba.get_num_threads() == before


@pytest.mark.parametrize(
    "problem", ["macro-f1", "macro-f1, batches of one", "coverage", "mixture", "precision", "no budget"]
)
def test_same_bytes_for_every_number_of_workers(digests, problem):
    assert len(digests[problem]) == 4
    assert len(set(digests[problem])) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_one_worker_is_safe_in_a_forked_child():
    before, in_child = run(SELECTIONS + FORK)
    assert in_child == before
