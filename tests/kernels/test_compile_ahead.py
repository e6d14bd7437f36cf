"""A second process compiles what is needed later; whatever becomes of it, this one goes on."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
from numba import typeof

import tailwise as tw
from tailwise.kernels import compile_ahead
from tailwise.kernels.rows import find_odd_probability
from tailwise.selection import label_moves

PROGRAM = """
import numpy as np
from tailwise.kernels import compile_ahead
from tailwise.kernels.rows import find_odd_probability
compile_ahead.compile_ahead((find_odd_probability, (np.ones(1), 0.0)))
find_odd_probability(np.ones(1), 0.0)
print(sum(find_odd_probability.stats.cache_hits.values()), compile_ahead._Second.begun or "none left")
"""


def test_a_kernel_comes_from_the_second_process(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "1 none left\n"


def test_the_first_call_asks_for_what_it_needs_later(monkeypatch):
    """Code of other types than those of the call would be compiled for nothing."""
    asked = []
    monkeypatch.setattr(label_moves, "compile_ahead", lambda *calls: asked.extend(calls))
    monkeypatch.setattr(label_moves, "_is_first_call", lambda: True)
    tw.select(np.random.default_rng(0).random((30, 30)) ** 3, "macro-f1", 1)  # whose quick proof repairs it
    assert {kernel.__name__ for kernel, _ in asked} == {
        "propose_labels",
        "settle_labels",
        "bound_part",
        "keep_most_shared",
        "multiply_generating",
        "count_nodes",
    }
    for kernel, arguments in asked:
        assert tuple(map(typeof, arguments)) in kernel.signatures, kernel.__name__


def test_a_second_process_that_fails_blocks_nobody(monkeypatch):
    monkeypatch.setattr(compile_ahead, "_PROGRAM", "raise SystemExit(3)")
    compile_ahead.compile_ahead((find_odd_probability, (np.ones(1), 0.0)))
    compile_ahead.wait_for(find_odd_probability)
    assert not compile_ahead._Second.begun


def test_nobody_waits_for_a_second_process_that_nobody_follows(monkeypatch):
    """Ctrl-C may come between the note of what it begins and the start of the thread that follows it."""
    monkeypatch.setattr(compile_ahead._Second, "begun", "rows.find_odd_probability")
    monkeypatch.setattr(compile_ahead._Second, "thread", threading.Thread(target=print))
    waiting = threading.Thread(target=compile_ahead.wait_for, args=(find_odd_probability,), daemon=True)
    waiting.start()
    waiting.join(timeout=20)
    assert not waiting.is_alive()


def test_a_second_process_that_is_not_asked_ends():
    if compile_ahead._Second.thread is not None:
        compile_ahead._Second.thread.join()  # another test's, of which there can be one at a time
    compile_ahead.start_second()
    process = compile_ahead._Second.waiting
    assert process is not None
    compile_ahead.compile_ahead()
    assert process.wait(timeout=60) == 0
    assert compile_ahead._Second.waiting is None


def test_a_second_process_ends_with_the_first():
    """Whatever the first one dies of before it has asked, standard input ends."""
    program = "from tailwise.kernels.compile_ahead import compile_asked; compile_asked()"
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_it_is_started_at_once_where_nothing_is_compiled(monkeypatch):
    called = []
    monkeypatch.setattr(label_moves, "start_second", lambda: called.append("start"))
    monkeypatch.setattr(label_moves, "compile_ahead", lambda *calls: called.append(len(calls)))
    monkeypatch.setattr(label_moves, "count_cores", lambda: 2)
    monkeypatch.setattr(label_moves, "propose_labels", SimpleNamespace(signatures=[]))
    cases = [
        ("auto", 2, False, ["start", 0]),
        ("auto", 2, True, []),
        ("auto", None, False, []),
        ("ascent", 2, False, []),
    ]
    for method, k, is_kept, expected in cases:
        monkeypatch.setattr(label_moves, "is_anything_kept", lambda kept=is_kept: kept)
        called.clear()
        with label_moves.label_moves_expected(method, k):
            pass
        assert called == expected
