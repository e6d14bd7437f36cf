"""The trade-off curve of a report and its dial, with the commands that reproduce each point."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tailwise.experiments.results import MeanCurve, MeanPoint
from tailwise.experiments.trade_off import check_alphas, trade_off
from tailwise.inputs.priors import LabelPriors
from tailwise.progress import track
from tailwise.reports.charts import frame
from tailwise.reports.comparison import Judgement, measure
from tailwise.reports.words import is_share
from tailwise.runs.run_folder import RunFolder
from tailwise.selection import select
from tailwise.utilities import Precision, Utility, as_utility
from tailwise.utilities.utility import Mixture

SHIFT = "shift_to_priors"
# Do not affect the search, or would end it at another place each time.
NOT_REPEATED = {"workers", "certify", "progress", "on_interrupt", "priors", "max_seconds"}


def compute_curve(
    run: RunFolder,
    judgements: Mapping[str, Judgement],
    *,
    alphas: Sequence[float] | None = None,
    progress: bool = False,
) -> MeanCurve:
    """Compute the trade-off between precision and the utility of the run, with `judgements` as other points.

    If the run maximised precision, the second utility is macro-F1; if it maximised a mixture with precision, it is the
    rest of the mixture. Values are realised if there are true labels, otherwise expected.
    """
    assert run.k is not None
    first, second = as_utility("precision"), _other_side(as_utility(run.utility, run.priors))
    options = _read_options(run)
    alphas = check_alphas(alphas)
    with track(total=len(alphas), title="trade-off", unit="mixtures", leave=False, shown=progress) as bar:
        curve = trade_off(
            run.probabilities,
            first,
            second,
            run.k,
            alphas=alphas,
            truth=run.truth,
            priors=run.priors,
            on_done=lambda point: bar.update(),
            **options,
        )
    points = tuple(MeanPoint(point.alpha, point.first, point.second) for point in curve.points)
    others = {
        name: (measure(run, each, first) or 0.0, measure(run, each, second) or 0.0) for name, each in judgements.items()
    }
    names = ("trade-off", "Trade-off", curve.first, curve.second)
    return MeanCurve(*names, run.k, points, others, "probabilities.npz", curve.measured, options)


def _read_options(run: RunFolder) -> dict[str, Any]:
    """Return the options of the run that differ from the defaults of `select`."""
    usual = {name: each.default for name, each in inspect.signature(select).parameters.items()}
    used = {**run.search, "seed": run.record.get("seed", int)}
    names = {name for name, default in usual.items() if default is not inspect.Parameter.empty} - NOT_REPEATED
    options = {name: value for name, value in used.items() if name in names and value not in (None, usual[name])}
    if options.get("method") == "instance":  # only for linear utilities; a mixture may not be linear
        del options["method"]
    return options


def _other_side(utility: Utility) -> Utility:
    rest = [(factor, term) for factor, term in utility.terms if not isinstance(term, Precision)]
    if not rest:
        return as_utility("macro-f1")
    total = sum(factor for factor, _ in rest)
    return rest[0][1] if len(rest) == 1 else Mixture([(factor / total, term) for factor, term in rest])


def describe_dial(curve: MeanCurve, priors: LabelPriors | None = None) -> dict[str, Any]:
    """Return the points with their commands, and the value from which drops are measured.

    This is the largest value of the first utility on the curve, or of top-k if that is larger.
    """
    first, second = as_utility(curve.first, priors), as_utility(curve.second, priors)
    points = []
    for point in curve.points:
        commands = _write_commands(curve, (1 - point.alpha) * first + point.alpha * second)
        points.append({"alpha": point.alpha, "first": point.first, "second": point.second, **commands})
    places = [(point.first, point.second) for point in curve.points]
    tops = [values for name, values in curve.others.items() if name.lower().startswith("top-")]
    return {
        "points": points,
        "highest": max(value for value, _ in [*places, *tops]),
        "is_share": is_share(curve.second),
        "outside": sorted(frame(places, curve.others)[1]),
    }


def _write_commands(curve: MeanCurve, mixture: Utility) -> dict[str, str]:
    """Write the command and the line of Python that reproduce the selection of a mixture."""
    ((factor, term), *rest) = mixture.terms
    utility = str(term if factor == 1 and not rest else mixture)
    options = dict(curve.options)
    weights = any("priors" in each.parameters() for _, each in mixture.terms)
    if weights or SHIFT in options or options.get("condition_positives") == "priors":
        options["priors"] = "priors.npz"
    words = [
        word
        for name, value in options.items()
        for word in (f"--{name.replace('_', '-')}", *([] if value is True else [str(value)]))
    ]
    more = shlex.join([*words, "-o", "chosen.npz"])
    command = f'tailwise select {shlex.quote(curve.probabilities)} -u "{utility}" -k {curve.k} {more}'
    source = json.dumps(curve.probabilities, ensure_ascii=False)
    if options.pop(SHIFT, False):
        source = f'tw.shift_to_priors({source}, "priors.npz")'
    arguments = "".join(f", {name}={value!r}" for name, value in options.items())
    return {"command": command, "python": f'tw.select({source}, "{utility}", k={curve.k}{arguments})'}
