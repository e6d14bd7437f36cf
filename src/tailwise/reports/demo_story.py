"""What ``tailwise demo`` shows on one screen: the problem, four strategies, one record, the certificate."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailwise.datasets import LabelNames, LongTail, make_long_tail
from tailwise.experiments import trade_off
from tailwise.inputs.candidates import Candidates
from tailwise.metrics import Evaluation, evaluate
from tailwise.reports.demo_names import name_labels
from tailwise.reports.records_page import report
from tailwise.selection import Selection, select
from tailwise.selection.reasons import Explanation, Reason

K = 5
ALPHAS = (0.0, 0.3, 0.5, 0.6, 0.8, 1.0)  # 0.5 is half and half, which is also a point of its own
STRATEGIES = {
    f"top {K}": "precision",
    "half and half": "0.5*precision + 0.5*macro-f1",
    "macro-F1": "macro-f1",
    "coverage": "coverage",
}
CERTIFIED = "macro-f1"
COLUMNS = {
    "precision": "precision",
    "macro-recall": "recall*",
    "macro-f1": "macro-F1*",
    "coverage": "found*",
    "catalogue-coverage": "used*",
}
WIDEST, NARROWEST, BAR = 100, 40, 5


@dataclass(frozen=True, eq=False)
class Story:
    """The results of the demo."""

    data: LongTail
    names: LabelNames
    selections: dict[str, Selection]
    evaluations: dict[str, Evaluation]
    explanation: Explanation
    page: Path
    picture: Path
    seconds: float


def tell_story(folder: Path, seed: int, on_step: Callable[[str], object] = lambda name: None) -> Story:
    """Choose labels by each strategy, evaluate and certify, explain one record, and write the page and the picture."""
    start = time.perf_counter()
    data = make_long_tail(seed=seed)
    names = name_labels(data.truth.shape[1])
    candidates = Candidates.of(data.probabilities).with_names(names).widened()
    folder.mkdir(parents=True, exist_ok=True)
    selections, evaluations = {}, {}
    for name, utility in STRATEGIES.items():
        selections[name] = select(candidates, utility, K, certify=utility == CERTIFIED)
        evaluations[name] = evaluate(data.truth, selections[name])
        on_step(name)
    own = selections["macro-F1"]
    explanation = own.explain(_find_telling(own), others=2, priors=data.priors)
    picture = _draw(data, folder, evaluations)
    on_step("picture")
    page = folder / "report.html"
    texts = [f"Record {i}" for i in range(own.n_instances)]
    title = f"{K} subjects for each record, for macro-F1"
    report(candidates, own, page, truth=data.truth, priors=data.priors, texts=texts, title=title, overwrite=True)
    on_step("report")
    return Story(data, names, selections, evaluations, explanation, page, picture, time.perf_counter() - start)


def _find_telling(selection: Selection) -> int:
    """Find an instance whose most probable labels are passed over for less probable ones."""
    assert selection.problem is not None
    matrix = selection.problem.candidates.to_csr()
    scores = []
    for i, row in enumerate(selection.labels[:1000]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        labels, values = matrix.indices[part], matrix.data[part]
        left_out = values[~np.isin(labels, row)]
        least = values[np.isin(labels, row)].min(initial=1.0)
        scores.append(min(float(left_out.max(initial=0.0)), 3 * float(least)))
    return int(np.argmax(scores))


def _draw(data: LongTail, folder: Path, evaluations: dict[str, Evaluation]) -> Path:
    from tailwise.reports.figures import save_trade_off

    curve = trade_off(data.probabilities, "precision", "macro-f1", K, truth=data.truth, alphas=ALPHAS)
    others = {name: (each["precision"], each["macro-f1"]) for name, each in evaluations.items()}
    path = folder / "trade-off.png"
    save_trade_off(path, curve, others, title=f"Trade-off of precision and macro-F1, {K} labels per instance")
    return path


# Words


def describe_story(story: Story, width: int) -> str:
    """Return the story as text with at most `width` characters per line."""
    width = max(NARROWEST, min(width, WIDEST))

    def fill(text: str, indent: str = "", more: str = "") -> str:
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False)

    n, m = story.data.truth.shape
    proven = story.selections["macro-F1"].certificate
    top = story.evaluations[f"top {K}"]
    unused = 1 - top["catalogue-coverage"]
    reasons = story.explanation
    return "\n".join(
        [
            fill(
                f"{n:,} library records, each to be given {K} of {m:,} subjects. A model gives the probabilities. "
                f"The {K} most probable subjects are mostly the same frequent ones: {unused:.0%} of all subjects are "
                "never suggested."
            ),
            "",
            _table(story, width),
            fill(
                "Percent, on the true subjects. * Averages over subjects: rare ones count as much as frequent ones. "
                f"Rows: what is maximised. Top {K}: the most probable subjects. Half and half: precision and macro-F1."
            ),
            "",
            fill(
                f"Why these and not others? {reasons.name}: probability, its rank, and the gain in macro-F1 "
                "in millionths:"
            ),
            *(fill(_line(each), "  ", "    ") for each in (*reasons.labels, *reasons.others)),
            "",
            fill(f"The certificate: {str(proven)[0].lower()}{str(proven)[1:]}"),
            "",
            fill(
                f"It took {story.seconds:.1f} s. For every record with its reasons, open {story.page} in a browser. "
                f"The trade-off is plotted in {story.picture}."
            ),
            "Next:",
            "  tailwise select YOUR-PROBABILITIES.npz -u macro-f1 -k 5 -o chosen.npz",
            "  tailwise demo --full      all strategies, metrics and budgets",
            "  tailwise --help",
        ]
    )


def _line(reason: Reason) -> str:
    rank = "not a candidate" if reason.rank is None else f"rank {reason.rank}"
    place = f"{reason.name}: {reason.probability:.0%}, {rank}"
    known = f"suggested {reason.times_chosen:,} times, {reason.expected:.1f} expected"
    gain = f"gain {1e6 * reason.gain:.0f}" if reason.chosen else f"gain only {1e6 * reason.gain:.0f}"
    return f"{'+' if reason.chosen else '-'} {place}; {known}; {gain}"


def _table(story: Story, width: int) -> str:
    """Return a table of strategies by metrics, with bars if there is room for them."""
    label = 1 + max(map(len, STRATEGIES))
    rooms = (width - label) // len(COLUMNS)
    bar = BAR if rooms >= 7 + BAR + 1 else 0
    room = max(7, min(rooms, 10 + bar))
    if label + room * len(COLUMNS) > width:
        label = max(9, width - room * len(COLUMNS))
    head = " " * label + "".join(f"{title[: room - 1]:>{room}}" for title in COLUMNS.values())
    largest = {name: max(each[name] for each in story.evaluations.values()) for name in COLUMNS}
    lines = [head]
    for strategy, values in story.evaluations.items():
        cells = [f"{_bar(values[name] / largest[name], bar)}{100 * values[name]:6.1f}".rjust(room) for name in COLUMNS]
        lines.append(f"{strategy[: label - 1]:<{label}}" + "".join(cells))
    return "\n".join(lines)


def _bar(share: float, width: int) -> str:
    if width == 0:
        return ""
    full = round(share * width)
    return (_block() * full).ljust(width)


def _block() -> str:
    """Return a block, or a character that every encoding has."""
    try:
        "\u2587".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return "#"
    return "\u2587"
