"""Results come back from JSON as they were; what does not fit is named by its place."""

import json
from dataclasses import asdict

import pytest

from tailwise.errors import InputError
from tailwise.experiments.results import Column, MeanCurve, MeanPoint, Results, Row, Table

TABLE = Table(
    "main-k3",
    "Metrics at 3",
    (Column("p", "P", "Instance"), Column("n", "passes", better=None, digits=0, percent=False)),
    (Row("Top-K", {"p": 0.25, "n": 1}, own=("p",)), Row("Cov", {"p": None}, {"p": 0.5}, "more")),
)
CURVE = MeanCurve(
    "mixed-k3",
    "Mixed at 3",
    "precision",
    "macro-f1",
    3,
    (MeanPoint(0.0, 0.5, 0.25), MeanPoint(1.0, 0.25, 0.5, 0.125, 0.0)),
    {"Top-K": (0.5, 0.25)},
    "probabilities.npz",
    options={"shift_to_priors": True},
)


def make_record():
    record = {"tables": [asdict(TABLE)], "curves": [asdict(CURVE)], "notes": ["a note"], "seconds": 2, "more": {}}
    return json.loads(json.dumps(record))


def test_results_come_back_as_they_were():
    assert Results.from_dict(make_record()) == Results((TABLE,), (CURVE,), ("a note",), 2)
    assert Results.from_dict({}) == Results()


BROKEN = {
    "a list": (lambda record: record.update(tables={}), r"tables must be a list\. Got \{\}\."),
    "an object": (lambda record: record.update(tables=[3]), r"tables 0 must be an object\. Got 3\."),
    "missing": (lambda record: record["tables"][0]["columns"][1].pop("key"), "tables 0, columns 1, key .* Got nothing"),
    "integer": (lambda record: record["tables"][0]["columns"][1].update(digits=1.5), "digits must be an integer"),
    "truth value": (
        lambda record: record["tables"][0]["columns"][1].update(percent=1),
        "percent must be true or false",
    ),
    "number": (
        lambda record: record["tables"][0]["rows"][0]["values"].update(p="x"),
        "rows 0, values, p must be a num",
    ),
    "no number": (lambda record: record["curves"][0]["points"][1].update(first=True), "points 1, first .* Got True"),
    "pair": (lambda record: record["curves"][0]["others"].update(x=[0.1]), r"others, x must be a list of 2\. Got 1\."),
    "text": (lambda record: record.update(notes=[None]), "notes 0 must be text. Got nothing"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_what_does_not_fit_is_named(change, message):
    record = make_record()
    change(record)
    with pytest.raises(InputError, match=message):
        Results.from_dict(record)
