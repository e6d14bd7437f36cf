"""Results do not depend on the number of threads, and a process is left as it was found."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numba
import pytest

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.engines import Threads
from tailwise.errors import InputError, TailwiseError
from tailwise.inputs.checks import count_cores

SECONDS = 100


def split(workers, size, **options):
    """The parts that the threads get, in order."""
    parts = []
    with Threads(workers, **options) as threads:
        threads.split(size, lambda first, last: parts.append((first, last)))
    return sorted(parts)


# The threads themselves


@pytest.mark.parametrize("workers", [1, 2, 3, 7, None])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 100])
def test_parts_cover_everything_once(workers, size):
    parts = split(workers, size)
    assert [i for first, last in parts for i in range(first, last)] == list(range(size))
    assert len(parts) == (workers or count_cores())


def test_no_number_means_all_cores():
    assert Threads(None).workers == count_cores()
    assert Threads(7).workers == 7


def test_closed_threads_leave_all_work_to_the_caller():
    with Threads(3) as threads:
        pass
    callers = []
    threads.split(9, lambda first, last: callers.append(threading.current_thread()))
    assert callers == [threading.current_thread()] * 3
    assert threads._jobs.empty()  # else every job would be kept, with its arrays


def test_explanations_open_the_engine_that_they_use(probabilities):
    class Door(Threads):
        is_open, used = False, []

        def __enter__(self):
            self.is_open = True
            return super().__enter__()

        def __exit__(self, *error):
            self.is_open = False
            super().__exit__(*error)

        def share(self, edges, task):
            self.used.append(self.is_open)
            super().share(edges, task)

    engine = Door(2)
    selection = tw.select(probabilities, "macro-f1", 3, engine=engine)
    n_used = len(engine.used)
    assert selection.explain(0).labels[0].chosen
    assert len(engine.used) > n_used
    assert not engine.is_open
    assert all(engine.used)


def test_work_that_cannot_be_shared():
    assert Threads(4, needs_one=True).workers == 1
    assert split(4, 10, needs_one=True) == [(0, 10)]


def test_parts_run_at_the_same_time():
    everyone = threading.Barrier(3, timeout=20)
    with Threads(3) as threads:
        threads.split(3, lambda first, last: everyone.wait())


@pytest.mark.parametrize("failing", [0, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_is_heard_when_all_that_began_have_ended(failing, error):
    begun, ended, everyone = [], [], threading.Barrier(3, timeout=20)

    def task(first, last):
        begun.append(first)
        everyone.wait()
        if first == failing:
            raise error
        time.sleep(0.05)
        ended.append(first)

    with pytest.raises(error), Threads(3) as threads:
        threads.split(3, task)
    assert sorted(ended) == sorted({*begun} - {failing})


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_ctrl_c_waits_for_what_others_write():
    """Also when it comes while the main thread has nothing left to do but to wait."""
    log, main = [], threading.current_thread()

    def task(first, last):
        if threading.current_thread() is not main:
            time.sleep(0.3)
        else:
            time.sleep(0.05)
        log.append(first)

    with Threads(2) as threads:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                threads.split(2, task)
        finally:
            signal.signal(signal.SIGALRM, previous)
        assert sorted(log) == [0, 1]
        threads.split(2, task)
        assert sorted(log) == [0, 0, 1, 1]


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_bad_numbers_are_refused(workers):
    with pytest.raises(InputError) as caught:
        Threads(workers)
    assert str(caught.value) == f"workers must be an integer of at least 1, or None for all cores. Got {workers!r}."


@pytest.mark.parametrize(("cores", "most"), [(1, 8), (2, 8), (3, 12), (64, 256)])
def test_more_threads_than_a_machine_can_use_are_refused(monkeypatch, cores, most):
    monkeypatch.setattr("tailwise.inputs.checks.count_cores", lambda: cores)
    assert Threads(most).workers == most
    for workers in (most + 1, 100_000, 10**30):
        with pytest.raises(InputError) as caught:
            Threads(workers, needs_one=True)
        assert str(caught.value) == (
            f"workers must be at most {most} on this machine, which has {cores} cores. "
            f"Got {workers}. Use workers=None for one thread per core."
        )


@pytest.fixture
def weak_system(monkeypatch):
    """A system that starts two more threads, or as many as one allows, and then refuses as Linux does."""
    allowed, real = [2], threading.Thread.start

    def start(thread):
        if not allowed[0]:
            raise failure[0]
        allowed[0] -= 1
        real(thread)

    failure = [RuntimeError("can't start new thread")]
    monkeypatch.setattr(threading.Thread, "start", start)
    return allowed, failure


def test_threads_that_did_start_are_stopped_when_others_do_not(weak_system):
    allowed, _ = weak_system
    before = threading.active_count()
    with pytest.raises(TailwiseError) as caught, Threads(5):
        pytest.fail("not all threads run")
    assert str(caught.value) == (
        "The system could not start 4 threads: can't start new thread. Use fewer workers, or close other programs."
    )
    assert threading.active_count() == before
    allowed[0] = 2
    assert split(3, 9) == [(0, 3), (3, 6), (6, 9)]


def test_ctrl_c_while_threads_start_leaves_none_behind(weak_system):
    weak_system[1][0] = KeyboardInterrupt()
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), Threads(5):
        pytest.fail("not all threads run")
    assert threading.active_count() == before


def test_the_next_selection_works_after_a_failed_start(probabilities, weak_system):
    allowed, _ = weak_system
    before = threading.active_count()
    with pytest.raises(TailwiseError):
        tw.select(probabilities, "macro-f1", 3, workers=4)
    assert threading.active_count() == before
    allowed[0] = 100
    assert tw.select(probabilities, "macro-f1", 3, workers=4).converged


# Selections

PROBLEMS = {
    "macro-f1": {"utility": "macro-f1", "k": 3},
    "macro-f1, groups of one": {"utility": "macro-f1", "k": 3, "group_size": 1, "max_passes": 3},
    "macro-f1, one group": {"utility": "macro-f1", "k": 3, "group_size": 8000},
    "coverage": {"utility": "coverage", "k": 3},
    "mixture": {"utility": "0.7*precision + 0.3*macro-f1", "k": 5, "init": "random"},
    "precision": {"utility": "precision", "k": 5},
    "no budget": {"utility": "macro-f1", "k": None},
}


@pytest.fixture(scope="module")
def probabilities():
    """Enough candidates for sharing to be worth while."""
    return zipf_candidates(8000, 500, 100)


@pytest.fixture
def shared(monkeypatch):
    """Grows with every piece of work that several threads do together."""
    pieces, original = [], Threads.split

    def spy(self, size, task):
        if self.workers > 1:
            pieces.append(size)
        original(self, size, task)

    monkeypatch.setattr(Threads, "split", spy)
    return pieces


def summarise(selection):
    return selection.labels.tobytes(), selection.expected, selection.history, selection.passes, selection.converged


@pytest.mark.parametrize("problem", PROBLEMS)
def test_same_bytes_for_every_number_of_workers(probabilities, shared, problem):
    alone = tw.select(probabilities, **PROBLEMS[problem], workers=1)
    assert not shared
    for workers in (2, 4, None):
        assert summarise(tw.select(probabilities, **PROBLEMS[problem], workers=workers)) == summarise(alone)
    assert shared  # else nothing was compared


@pytest.mark.parametrize("utility", ["macro-f1", "coverage", "0.7*precision + 0.3*macro-f1"])
def test_same_bytes_for_small_problems(utility):
    small = zipf_candidates(2000, 500, 20)
    alone, *others = (summarise(tw.select(small, utility, 3, workers=workers)) for workers in (1, 2, 4))
    assert others == [alone, alone]


def test_the_process_is_left_as_it_was(probabilities):
    before = numba.get_num_threads(), threading.active_count()
    tw.select(probabilities, "macro-f1", 3, workers=4)
    assert (numba.get_num_threads(), threading.active_count()) == before


def test_selections_at_the_same_time(probabilities):
    alone = summarise(tw.select(probabilities, "macro-f1", 3, workers=1))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(summarise(tw.select(probabilities, "macro-f1", 3, workers=2))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert found == [alone] * 3


# A test runner must not fork itself, so this happens in a process of its own.
FORK = """
import hashlib, json, multiprocessing, sys
import tailwise as tw
from tailwise.datasets import zipf_candidates

PROBABILITIES = zipf_candidates(8000, 500, 100)

def digests(workers):
    selections = [tw.select(PROBABILITIES, name, 3, workers=workers) for name in ("macro-f1", "coverage", "precision")]
    return [hashlib.sha256(selection.labels.tobytes()).hexdigest() for selection in selections]

found = {"parent": digests(4)}
context = multiprocessing.get_context("fork")
for workers in (1, 2):
    results = context.SimpleQueue()
    process = context.Process(target=lambda: results.put(digests(workers)), daemon=True)
    process.start()
    process.join(60)
    if process.exitcode != 0:
        sys.exit(f"the child with {workers} workers ended with {process.exitcode}")
    found[f"child with {workers}"] = results.get()
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_selecting_works_in_a_forked_child():
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        env={**os.environ, "NUMBA_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["child with 1"] == found["child with 2"] == found["parent"]


# An interrupt may also fall into a callback of the interpreter, where it is only reported.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_any_moment_leaves_no_lock_and_no_thread():
    """An interrupt may come between any two steps of the thread that waits; it must neither hang nor lose a thread."""
    import random
    import signal

    if not hasattr(signal, "setitimer"):
        pytest.skip("needs a timer of the system")
    before, rng, n_interrupts = threading.active_count(), random.Random(1), 0
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(150):
            try:
                with Threads(2) as threads:
                    signal.setitimer(signal.ITIMER_REAL, rng.random() * 2e-3 + 1e-5)
                    for _ in range(10_000):
                        threads.split(10, lambda first, last: sum(range(30)))
            except KeyboardInterrupt:
                n_interrupts += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert n_interrupts > 50
    assert threading.active_count() == before
