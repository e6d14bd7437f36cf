"""A proof that runs out of time, within a round or before the first."""

import itertools

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import InputError, NoCertificateWarning
from tailwise.selection.observer import Observer

PROBABILITIES = np.random.default_rng(0).beta(0.3, 2.0, (60, 40))


def certify(**options):
    return tw.certify(PROBABILITIES, "macro-f1", 3, target_gap=0.0, rounds=5, **options)


def test_without_time_for_a_round_there_is_no_bound():
    with pytest.raises(InputError, match=r"^max_seconds must leave time for one round of the proof\. Got 1e-09\."):
        certify(max_seconds=1e-9)
    with pytest.warns(NoCertificateWarning, match=r"^max_seconds were over before the first round of the proof"):
        selection = tw.select(PROBABILITIES, "macro-f1", 3, certify=True, max_seconds=1e-9)
    assert selection.certificate is None


@pytest.mark.parametrize("workers", [1, 2])
def test_a_round_that_is_not_finished_is_given_up(monkeypatch, workers):
    top = tw.select(PROBABILITIES, "macro-f1", 3, method="ascent")
    whole = certify(selection=top, workers=workers)
    told, asked = [], itertools.count()
    # After the second round, the fourth question comes when some of the labels are bounded.
    monkeypatch.setattr(Observer, "has_time", lambda _: len(told) < 2 or next(asked) < 3)
    found = certify(selection=top, workers=workers, on_pass=told.append)
    assert (found.rounds, found.finished, found.interrupted) == (2, False, False)
    assert found.history == whole.history[:2]
    assert found.upper >= found.value
    assert next(asked) > 3
