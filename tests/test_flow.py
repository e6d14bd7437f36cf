"""The way of a call through the house: few files, one direction, totals counted from scratch a few times only."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

import tailwise as tw

SOURCE = str(Path(tw.__file__).parent)
PROBABILITIES = np.random.default_rng(0).beta(0.3, 2.0, (300, 200))


def trace(call):
    """How often each function of the package is called, by file and name, once everything is compiled."""
    call()
    calls = Counter()

    def note(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(SOURCE):
            calls[Path(file).relative_to(SOURCE).as_posix(), frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


def test_a_default_call_crosses_few_files():
    files = {file for file, _ in trace(lambda: tw.select(PROBABILITIES, "macro-f1", 5))}
    assert len(files) <= 24, sorted(files)
    assert sum(file.startswith("selection/") for file in files) <= 8


def test_totals_are_counted_from_scratch_three_times_at_most():
    calls = trace(lambda: tw.select(PROBABILITIES, "macro-f1", 5))
    assert 1 <= calls["kernels/label_state.py", "count_selected"] <= 3
    calls = trace(lambda: tw.select(PROBABILITIES, "macro-f1", 5, method="ascent", expectation="semi"))
    assert 1 <= calls["kernels/label_state.py", "count_selected"] <= 2
