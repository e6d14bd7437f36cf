"""The trade-off curve of a report: computed from a run, or read from the record of an experiment."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailwise.experiments import Curve, trade_off
from tailwise.experiments.results import MeanPoint
from tailwise.report.comparison import measure
from tailwise.report.words import is_share, metric_title
from tailwise.utilities import Precision, as_utility
from tailwise.utilities.utility import Mixture, number_text

if TYPE_CHECKING:
    from tailwise.report.comparison import Judgement
    from tailwise.runs.run_folder import RunFolder
    from tailwise.utilities import Utility

__all__ = ["ReportCurve", "compute_curve"]

DEFAULTS = {
    "method": "auto",
    "expectation": "auto",
    "init": "top",
    "tolerance": 1e-7,
    "max_passes": 100,
    "batch": "auto",
    "fill": "auto",
    "condition_positives": None,
}
SHIFT = "shift_to_priors"
NEED_PRIORS = ("ps-precision", "power-law", "log")


@dataclass(frozen=True)
class ReportCurve:
    """A trade-off as the page shows it.

    Attributes
    ----------
    name : str
        Of its chart.
    first, second : str
        The utilities; alpha is the share of the second.
    measured : {"expected", "realised"}
        What the values are.
    k : int
        Labels per instance.
    points : tuple of MeanPoint
        In order of alpha.
    others : dict of str to (float, float)
        Other selections, as points beside the curve.
    options : dict of str to Any
        What `select` needs besides to choose the same labels again.
    probabilities : str
        Name of the file to choose from.
    """

    name: str
    first: str
    second: str
    measured: str
    k: int
    points: tuple[MeanPoint, ...]
    others: dict[str, tuple[float, float]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    probabilities: str = "probabilities.npz"

    def for_page(self) -> dict[str, Any]:
        """What the dial needs: the points, with the commands that choose by them."""
        points = [
            {
                "alpha": point.alpha,
                "first": point.first,
                "second": point.second,
                "command": self._command(point.alpha),
                "python": self._python(point.alpha),
            }
            for point in self.points
        ]
        names = {"first": self.first, "second": self.second, "is_share": is_share(self.second)}
        return {**names, "highest": self.highest, "points": points}

    @property
    def highest(self) -> float:
        """What a drop of the first utility is measured from: its largest value on the curve, or that of top-k."""
        tops = [values[0] for name, values in self.others.items() if name.lower().startswith("top-")]
        return max(*(point.first for point in self.points), *tops, -math.inf)

    @property
    def second_title(self) -> str:
        """What the second utility is called where there is little room."""
        return "rest of the mixture" if " + " in self.second else metric_title(self.second)

    @property
    def formula(self) -> str:
        """What each point maximises."""
        second = metric_title(self.second)
        second = f"({second})" if " + " in second else second
        return f"(1 - alpha) x {metric_title(self.first)} + alpha x {second}"

    def utility_at(self, alpha: float) -> str:
        """The mixture as text; factors of 0 and 1 are left out."""
        terms = [_scaled(term, 1 - alpha) for term in self.first.split(" + ")]
        terms += [_scaled(term, alpha) for term in self.second.split(" + ")]
        return " + ".join(filter(None, terms))

    def _command(self, alpha: float) -> str:
        utility = self.utility_at(alpha)
        more = "".join(
            f" --{name.replace('_', '-')}" + ("" if value is True else f" {value}")
            for name, value in self.options.items()
        )
        more += " --priors priors.npz" if self.needs_priors(utility) else ""
        source = shlex.quote(self.probabilities)
        return f'tailwise select {source} -u "{utility}" -k {self.k}{more} -o chosen.npz'

    def _python(self, alpha: float) -> str:
        utility = self.utility_at(alpha)
        more = "".join(f", {name}={value!r}" for name, value in self.options.items() if name != SHIFT)
        more += ', priors="priors.npz"' if self.needs_priors(utility) else ""
        source = json.dumps(self.probabilities, ensure_ascii=False)
        if self.options.get(SHIFT):
            source = f'tw.shift_to_priors({source}, "priors.npz")'
        return f'tw.select({source}, "{utility}", k={self.k}{more})'

    def needs_priors(self, utility: str) -> bool:
        """Whether choosing by a utility needs the training labels, too."""
        is_needed = SHIFT in self.options or "priors" in self.options.values()
        return is_needed or any(name in utility for name in NEED_PRIORS)


def compute_curve(
    run: RunFolder,
    judgements: dict[str, Judgement],
    *,
    alphas: Sequence[float] | None = None,
    on_done: Callable[[Any], object] = lambda point: None,
) -> ReportCurve:
    """Trade precision against the utility of the run, on its probabilities; `judgements` are shown beside the curve.

    Where the run maximised precision itself, the other side is macro-F1; where it maximised a mixture with precision,
    the rest of that mixture. The values are realised ones where there is truth.
    """
    first = as_utility("precision")
    second = _other_side(as_utility(run.utility, run.priors))
    options = {name: run.search[name] for name in DEFAULTS if run.search.get(name) is not None}
    if options.get("method") == "instance":  # of a linear utility; a mixture need not be one
        options["method"] = "auto"
    seed = run.record.get("seed", int)
    curve = trade_off(
        run.probabilities,
        first,
        second,
        run.k,
        alphas=alphas,
        truth=run.truth,
        priors=run.priors,
        on_done=on_done,
        seed=seed,
        **options,
    )
    others = {
        name: (measure(run, each, first) or 0.0, measure(run, each, second) or 0.0) for name, each in judgements.items()
    }
    shown = {name: value for name, value in options.items() if value != DEFAULTS[name]}
    return _as_shown(curve, run, others, shown | ({"seed": seed} if seed else {}))


def _as_shown(
    curve: Curve, run: RunFolder, others: dict[str, tuple[float, float]], options: dict[str, Any]
) -> ReportCurve:
    assert run.k is not None
    points = tuple(MeanPoint(float(point.alpha), point.first, point.second) for point in curve.points)
    return ReportCurve("trade-off", curve.first, curve.second, curve.measured, run.k, points, others, options)


def _other_side(utility: Utility) -> Utility:
    rest = [(factor, term) for factor, term in utility.terms if not isinstance(term, Precision)]
    if not rest:
        return as_utility("macro-f1")
    total = sum(factor for factor, _ in rest)
    return rest[0][1] if len(rest) == 1 else Mixture([(_short(factor / total), term) for factor, term in rest])


def _short(number: float) -> float:
    """The number to 12 digits, so that 1 - 0.3 reads as 0.7."""
    return float(f"{number:.12g}")


def _scaled(term: str, share: float) -> str:
    """A term of a mixture, times a share; empty where nothing of it is left."""
    factor, _, name = term.rpartition("*")
    total = share * (float(factor) if factor else 1.0)
    text = number_text(_short(total))
    return "" if text == "0" else name if text == "1" else f"{text}*{name}"
