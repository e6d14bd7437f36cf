"""A page about any selection, record by record: from the files of any model."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import written_beside
from tailwise.datasets.formats.output_files import reserved_file
from tailwise.datasets.formats.text_lines import COLUMN, read_texts
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.excluded_pairs import NOTHING_EXCLUDED, carry_excluded, read_excluded
from tailwise.inputs.paths import Source, is_path
from tailwise.kernels.rows import Excluded
from tailwise.metrics import evaluate
from tailwise.metrics.placed_truth import PlacedTruth, place_truth
from tailwise.reports.templates import render
from tailwise.reports.words import change_text, count_text, metric_title, percent, top_text
from tailwise.runs.run import Run
from tailwise.selection import Selection, expected_utility, select
from tailwise.selection.explain import Explainer, explainer_of
from tailwise.selection.resolve import find_candidates, space_of

N_OTHERS = 3
METRICS = ("precision", "macro-precision", "macro-recall", "macro-f1", "coverage")
SECTIONS = {
    "summary": "What was chosen",
    "records": "Record by record",
    "labels": "Label by label",
    "reading": "How to read this",
}
PLAIN_WORDS = {
    "precision": "how many of the labels given are right",
    "macro-precision": "the same for each label, averaged",
    "macro-recall": "how many of a label's records were given it, averaged",
    "macro-f1": "precision and recall of each label combined (harmonic mean), averaged over labels",
    "coverage": "how many labels are right for at least one record",
    "": "how much of the vocabulary is used",
}
READING = {
    "probability": "how likely the label is for this record, according to the model",
    "rank": "the place of the label among the candidates of this record, by probability",
    "gain": "what the score of all records together would lose without the label, or gain from it, in points: "
    "hundredths, as in the table at the top. A label of one record is a small part of the whole",
    "chosen for, expected": "for how many records the label is chosen, and how many are likely to have it",
    "dashed": "a label that only fills up the number of labels: less than 1 % likely, and with next to no gain",
    "why not the most probable": "a label that many records have already adds little; a rare one adds more",
}


def report(
    probabilities: Any,
    selection: Any = None,
    output: str | os.PathLike[str] | None = None,
    *,
    utility: Any = None,
    truth: Any = None,
    priors: Any = None,
    exclude: Any = None,
    texts: Any = None,
    text_column: str = COLUMN,
    label_names: Any = None,
    columns: Any = None,
    title: str = "Labels, record by record",
    overwrite: bool = False,
) -> str:
    """Make a self-contained HTML page about a selection, searchable by record and by label.

    Parameters
    ----------
    probabilities : array_like, path or Run
        Label probabilities of any model, as for :func:`select`. A :class:`Run` also gives the selection, truth and
        priors, unless these are given.
    selection : Selection, array_like or path
        The labels chosen for each record, by tailwise or another tool. With ids it is joined by id; records that it
        lacks are shown without labels, and a warning says how many there are. Not needed with a Run.
    output : path, optional
        File to write the page to.
    utility : Utility or str
        The utility by which gains are measured. Default: that of a :class:`Selection`, otherwise macro-F1.
    truth : 0/1 matrix or path, optional
        True labels, to evaluate the selection and mark labels that are right. With ids they are joined by id, and may
        be known for some of the records only.
    priors : LabelPriors, 0/1 matrix or path, optional
        Training labels, to show training frequencies.
    exclude : optional
        Pairs that could not be chosen, as for :func:`select`: they are not shown as alternatives, nor among the most
        probable labels that the page compares with. Default: the pairs that a :class:`Selection` excludes.
    texts : sequence of str or path, optional
        A title for each record, in their order; in a file, one per line, a column of .csv, .tsv or .jsonl, or the texts
        of an Annif corpus.
    text_column : str
        The column of titles in a table, or their key in JSON lines.
    label_names : sequence of str or path, optional
        Names of the labels, if the files do not hold them.
    columns : sequence of str, optional
        Columns of instances, labels and probabilities in a file of probabilities, as for :func:`tailwise.load`.
    title : str
        The headline of the page.
    overwrite : bool
        Whether to replace the file if it exists.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
    >>> page = tw.report(probabilities, tw.select(probabilities, "macro-f1", k=1), texts=["a", "b", "c"])
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    if isinstance(probabilities, Run):
        probabilities, *own = _parts_of(probabilities)
        given = (selection, truth, priors)
        selection, truth, priors = (mine if each is None else each for mine, each in zip(own, given, strict=True))
    if selection is None:
        msg = "selection must be the labels chosen for each record. Got None. Give it, or a Run alone."
        raise InputError(msg)
    source = Source.of(probabilities, label_names=label_names, columns=columns)
    titles = _read_texts(texts, text_column)
    if output is None:
        return _render(source, selection, utility, truth, priors, exclude, titles, title)
    with reserved_file(output, overwrite=overwrite) as draft:
        page = _render(source, selection, utility, truth, priors, exclude, titles, title)
        with written_beside(draft) as file:
            file.write(page.encode("utf-8", "replace"))
    return page


def _parts_of(run: Run) -> tuple[Candidates, Selection, Any, Any]:
    """The probabilities, selection, true labels and priors of a run."""
    if run.probabilities is None:
        msg = "A run on the tree has no probabilities. Report one with another method, or give probabilities."
        raise InputError(msg)
    candidates = Candidates.of(run.probabilities).with_names(run.label_names, run.instance_names)
    truth = run.truth
    if truth is not None:
        truth = Source(truth, Contents(truth, label_names=run.label_names, instance_names=run.instance_names))
    return candidates, run.selection, truth, run.priors


def _render(
    source: Source,
    selection: Any,
    utility: Any,
    truth: Any,
    priors: Any,
    exclude: Any,
    titles: list[str] | None,
    title: str,
) -> str:
    if utility is None:
        utility = selection.utility if isinstance(selection, Selection) else "macro-f1"
    found_priors = source.read_priors(priors)
    candidates = find_candidates(source, None, None)
    chosen = space_of(candidates).warn_of_missing(source.read_selection(selection), "selection")
    excluded = _find_excluded(exclude, selection, candidates, source.columns)
    explainer = explainer_of(candidates, utility, chosen, priors=found_priors, exclude=excluded)
    n, k = explainer.chosen.n_instances, explainer.chosen.labels.shape[1]
    true = None if truth is None else place_truth(source, truth)
    sizes = (explainer.chosen.labels != EMPTY).sum(axis=1)
    budgets = np.minimum(sizes, explainer.candidates.sizes[:n])
    top = select(candidates, "precision", budgets, fill="none", exclude=excluded)
    data = _collect(explainer, top, true, _check_titles(titles, n), explainer.count_training(found_priors))
    data["topTitle"] = f"top-{k}"
    return render(
        "records.html",
        title=title,
        subtitle=f"{count_text(n)} records, {count_text(explainer.candidates.n_labels)} labels",
        sections=SECTIONS,
        charts={},
        dials={},
        plotly="",
        top_title=f"top-{k}",
        data=data,
        reading=READING,
        utility=metric_title(str(explainer.expectation.utility)),
        **_summarise(candidates, explainer.chosen, top, true, k),
    )


def _find_excluded(exclude: Any, selection: Any, candidates: Candidates, columns: Any) -> Excluded | None:
    """Return what could not be chosen: the caller's pairs, otherwise those that a selection in memory excludes."""
    if exclude is not None:
        return read_excluded(exclude, candidates, columns)
    problem = selection.problem if isinstance(selection, Selection) else None
    if problem is None or problem.rules.excluded is NOTHING_EXCLUDED:
        return None
    return carry_excluded(problem.rules.excluded, selection, candidates)


def _summarise(
    candidates: Candidates, chosen: Chosen, top: Chosen, truth: PlacedTruth | None, k: int
) -> dict[str, Any]:
    """Compare the selection with the most probable labels, by the true labels or by expectation."""
    both = [_measure(candidates, each, truth) for each in (top, chosen)]
    used = [np.unique(each.labels[each.labels != EMPTY]).size for each in (top, chosen)]
    rows = [
        {
            "name": name,
            "title": metric_title(name),
            "top": percent(a),
            "own": percent(b),
            "change": change_text(b - a, name),
        }
        for name, a, b in ((name, both[0][name], both[1][name]) for name in METRICS)
    ]
    counts = {"name": "", "title": "different labels chosen", "top": count_text(used[0]), "own": count_text(used[1])}
    rows.append({**counts, "change": f"{used[1] - used[0]:+,}"})
    return {
        "rows": rows,
        "measured": "expected" if truth is None else _name_measured(truth),
        "lead": f"{count_text(used[1])} different labels are chosen for {count_text(chosen.n_instances)} records; "
        f"{top_text(k)} of each record would use {count_text(used[0])}.",
        "plain_words": PLAIN_WORDS,
        "note": "In averages over labels, and in coverage, rare labels count as much as frequent ones.",
    }


def _name_measured(truth: PlacedTruth) -> str:
    few = "" if truth.is_known.all() else f" of {count_text(int(truth.is_known.sum()))} records"
    return f"on the true labels{few}"


def _measure(candidates: Candidates, chosen: Chosen, truth: PlacedTruth | None) -> dict[str, float]:
    if truth is not None:
        few = Chosen(chosen.labels[truth.is_known], chosen.n_labels, is_ranked=chosen.is_ranked)
        found = evaluate(truth.known()[1], few, list(METRICS))
        return {name: found[name] for name in METRICS}
    return {name: expected_utility(candidates, name, chosen) for name in METRICS}


def _collect(
    explainer: Explainer, top: Chosen, truth: PlacedTruth | None, texts: list[str] | None, training: NDArray | None
) -> dict[str, Any]:
    """Return the data of the page, in few and short numbers."""
    m, names, ids = explainer.candidates.n_labels, explainer.candidates.label_names, explainer.instance_ids
    own, others = explainer.list_all(N_OTHERS)
    counts = [np.bincount(each.labels[each.labels != EMPTY], minlength=m).tolist() for each in (explainer.chosen, top)]
    return {
        "labels": {
            "names": [f"label {j}" for j in range(m)] if names is None else [names.title_of(j) for j in range(m)],
            "chosen": counts[0],
            "top": counts[1],
            "expected": [_short(p, 4) for p in explainer.expectation.batch.condition_positives.tolist()],
            "training": None if training is None else training.astype(int).tolist(),
        },
        "names": None if ids is None else [str(each) for each in ids],
        "texts": texts,
        "own": [_flatten(row) for row in own],
        "others": [_flatten(row) for row in others],
        "top": [row[row != EMPTY].tolist() for row in top.labels],
        "truth": None if truth is None else _list_true(truth),
    }


def _flatten(row: list[tuple[int, float, int, float]]) -> list[float]:
    return [value for j, e, rank, gain in row for value in (j, _short(e, 3), rank, _short(gain, 3))]


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _list_true(truth: PlacedTruth) -> list[list[int] | None]:
    """Return the true labels of each record; None where they are not known."""
    rows = np.split(truth.matrix.indices, truth.matrix.indptr[1:-1])
    return [row.tolist() if is_known else None for row, is_known in zip(rows, truth.is_known, strict=True)]


def _read_texts(texts: Any, column: str) -> list[str] | None:
    """Return the titles that a file or a sequence holds."""
    if texts is None:
        return None
    return read_texts(texts, column) if is_path(texts) else [str(text) for text in texts]


def _check_titles(titles: list[str] | None, n_instances: int) -> list[str] | None:
    if titles is not None and len(titles) != n_instances:
        msg = (
            f"texts must hold one title for each of the {n_instances} instances, in their order. Got {len(titles)}. "
            "Give the titles of these instances; in a file, one per line, or a column of .csv, .tsv or .jsonl."
        )
        raise InputError(msg)
    return titles
