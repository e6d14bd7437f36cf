"""From a request to a problem: every parameter checked, every "auto" decided, here and nowhere else."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.certificates.provable import check_provable, is_provable
from tailwise.engines import Engine
from tailwise.engines.engine import MIN_SHARED_ENTRIES, Threads
from tailwise.errors import InputError
from tailwise.expectations import Exact, SemiEmpirical
from tailwise.expectations.terms import supports_exact
from tailwise.inputs.calibration import warn_of_density
from tailwise.inputs.candidates import SMALLEST, Candidates
from tailwise.inputs.checks import check_choice, check_seed, is_integer
from tailwise.inputs.excluded_pairs import (
    NOTHING_EXCLUDED,
    drop_excluded,
    read_excluded,
    refuse_excluded,
    with_empty_rows,
)
from tailwise.inputs.joining import Space
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_dense
from tailwise.inputs.odd_probabilities import refuse_truth
from tailwise.inputs.paths import Source
from tailwise.inputs.totals import Totals, check_totals
from tailwise.inputs.wide_tables import values_by_id
from tailwise.selection.bca import bca, start, visiting_order, warm_up
from tailwise.selection.greedy import greedy
from tailwise.selection.instance_wise import instance_wise
from tailwise.selection.label_moves import QUICK, label_moves, repair
from tailwise.selection.no_budget import no_budget
from tailwise.selection.problem import Problem, Proving, Request
from tailwise.selection.rules import check_given, check_start, find_rules
from tailwise.utilities import as_utility
from tailwise.utilities.utility import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations.expectation import Expectation
    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.priors import LabelPriors
    from tailwise.kernels.rows import Excluded
    from tailwise.selection.problem import Step
    from tailwise.selection.rules import Rules
    from tailwise.utilities.utility import Utility

__all__ = [
    "METHODS",
    "check_condition_positives",
    "check_context",
    "check_options",
    "choose_engine",
    "describe_batch",
    "find_candidates",
    "make_expectation",
    "name_columns",
    "read_priors",
    "resolve",
    "space_of",
]

METHODS = ("auto", "instance", "ascent", "global", "greedy")
EXPECTATIONS = ("auto", "semi", "exact")
_NAMES = {field.name for field in fields(Request)}
# Up to this number of candidates "auto" takes the time for label passes: 3 to 10 times that of row passes.
MOST_GLOBAL_ENTRIES = 50_000_000
# Up to this number "global" also looks for a better selection where prices point: a fraction of a second.
MOST_PRICED_ENTRIES = 20_000


def resolve(request: Request) -> Problem:
    """The problem that a request comes to."""
    _check_settings(request)
    source = Source.of(request.probabilities, columns=request.columns)
    candidates = find_candidates(source, request.columns, request.context)
    if not isinstance(source.matrix, Candidates):  # these keep the type of their probabilities
        candidates = candidates.widened()
    excluded = NOTHING_EXCLUDED
    if request.exclude is not None:
        excluded = read_excluded(request.exclude, candidates, request.columns)
    origin = _check_origin(request, candidates, source, excluded)
    priors = read_priors(request.priors, source, candidates)
    if priors is not None and priors.n_labels == candidates.n_labels and request.condition_positives is None:
        warn_of_density(candidates, priors)
    candidates = candidates if priors is None else candidates.with_messages(priors.messages)
    utility = as_utility(request.utility, priors)
    given = origin if not isinstance(origin, str) else None
    n_instances, instance_ids = candidates.n_instances, candidates.instance_ids
    candidates, rules = find_rules(candidates, request.k, given, request.fill, excluded)
    if given is not None:
        origin = given = with_empty_rows(given, candidates.n_instances)
    needs_one = candidates.n_entries < MIN_SHARED_ENTRIES or _needs_one_thread(utility)
    engine = choose_engine(request.engine, request.workers, needs_one=needs_one)
    with Threads(engine.workers) as threads:  # an engine elsewhere is not open yet
        candidates.sum_up(threads)
    context = check_context(request.context, utility, candidates)
    budgets = rules.budgets if rules.has_budget else None
    batch = describe_batch(candidates, budgets, priors, request.condition_positives, context, n_instances)
    name = _choose_expectation(request.expectation, utility)
    expectation = make_expectation(name, utility, candidates, batch, context, engine)
    method = _choose_method(request.method, expectation, rules)
    if request.proving is not None:
        check_provable(utility, expectation)
    order, group_size = visiting_order(n_instances, request.group_size, request.seed)
    cheaper = expectation.is_expensive and method in ("ascent", "global") and given is None
    is_quick = _is_quick(method, expectation)
    plan = _plan(method, repairs=is_quick and request.proving is None, warms_up=cheaper)
    return Problem(
        candidates,
        n_instances,
        instance_ids,
        utility,
        batch,
        expectation,
        SemiEmpirical(utility, candidates, batch, context, engine) if cheaper else None,
        rules,
        origin,
        method,
        plan,
        order,
        group_size,
        engine,
        float(request.tolerance),
        int(request.max_passes),
        int(request.seed),
        _closer(request.proving) if is_quick and request.judged is None else request.proving,
        given if request.judged is not None else None,
    )


def name_columns(instance: str | None, label: str | None, probability: str | None) -> dict[str, str] | None:
    """The columns of a table that the user named, by what they hold; None if none was."""
    named = {"instance": instance, "label": label, "probability": probability}
    return {part: column for part, column in named.items() if column is not None} or None


def find_candidates(source: Source, columns: dict[str, str] | None, context: Any) -> Candidates:
    """The candidates of the input; a context with labels of other ids adds these, as candidates of no instance."""
    of_table = columns if source.contents is None else None  # those of a file were named when it was read
    candidates = Candidates.of(source.probabilities, columns=of_table).with_names(source.names, source.instance_ids)
    candidates = candidates if source.contents is None else candidates.with_messages(source.contents.messages)
    if candidates.origin.library and not isinstance(source.matrix, Candidates):  # a table
        refuse_truth(candidates.rows.values)
    others = getattr(context, "label_names", None)
    if others is None or candidates.label_names is None:
        return candidates
    return candidates.with_labels(LabelNames(others))


def check_options(
    utility: Utility | str, k: Any, *, n_labels: int, priors: LabelPriors | None, certify: bool = False, **options: Any
) -> None:
    """Refuse options of `select` that no data could make right, before the data are there."""
    one = Candidates(np.array([0, 1]), np.zeros(1, np.int32), np.full(1, 0.5), n_labels)
    known = {name: options[name] for name in _NAMES & set(options)}
    known.pop("exclude", None)  # fits the batch or not
    if not isinstance(known.get("condition_positives"), str):
        known.pop("condition_positives", None)  # an array fits the batch or not, which is not known yet
    resolve(Request(one, utility, k, priors=priors, proving=Proving() if certify else None, **known))


def make_expectation(
    name: str, utility: Utility, candidates: Candidates, batch: Batch, context: Totals, engine: Engine
) -> Expectation:
    """An expectation by its name."""
    if name == "exact":
        return Exact(utility, candidates, batch, context, engine)
    return SemiEmpirical(utility, candidates, batch, context, engine)


def describe_batch(
    candidates: Candidates,
    budgets: NDArray | None,
    priors: LabelPriors | None,
    condition_positives: Any,
    context: Totals,
    n_instances: int,
) -> Batch:
    """What a utility may know of the batch and its context: sizes, slots, and the positives of each label."""
    n, m = n_instances, candidates.n_labels
    if priors is not None and priors.n_labels != m:
        msg = f"priors covers {priors.n_labels} labels, probabilities has {m}. Give the priors of the same labels."
        raise InputError(msg)
    n_slots = n if budgets is None else max(1, int(budgets.sum()))
    more = context.n_instances if budgets is None else context.n_slots
    names = candidates.label_names
    if names is not None:
        condition_positives = values_by_id(condition_positives, names, "condition_positives", "label")
    p = check_condition_positives(condition_positives, candidates.sum_up(), n, priors)
    p = p + context.p if context.p.any() else p
    numbers = None if names is None else {name: j for j, name in enumerate(names.ids)}
    return Batch(n + context.n_instances, m, n_slots + more, p, numbers)


def read_priors(priors: Any, source: Source, candidates: Candidates) -> LabelPriors | None:
    """Training frequencies of the labels of the candidates, matched by id where both sides have ids."""
    found = source.read_priors(priors)
    return None if found is None else space_of(candidates).read_priors(found)


def space_of(candidates: Candidates) -> Space:
    """The instances and labels in whose order other inputs are put."""
    return Space("probabilities", candidates.instance_ids, candidates.label_names)


def _check_origin(request: Request, candidates: Candidates, source: Source, excluded: Excluded) -> str | Chosen:
    """Where the search starts: a name, a given selection without excluded labels, or the one that is to be judged."""
    if request.judged is not None:
        judged = space_of(candidates).read_chosen(source.read_selection(request.judged), "selection")
        judged = check_given(judged, candidates, request.k, "selection")
        if excluded is not NOTHING_EXCLUDED:
            refuse_excluded(judged, excluded)
        return judged
    if isinstance(request.init, str):
        return check_start(request.init, candidates, request.k)
    given = space_of(candidates).read_chosen(source.read_selection(request.init), "init", may_have_more=True)
    start = check_start(given, candidates, request.k)
    return start if isinstance(start, str) or excluded is NOTHING_EXCLUDED else drop_excluded(start, excluded)


def _check_settings(request: Request) -> None:
    if not (isinstance(request.tolerance, (int, float, np.number)) and 0 <= request.tolerance < np.inf):
        msg = f"tolerance must be a finite number of at least 0. Got {request.tolerance!r}."
        raise InputError(msg)
    if not is_integer(request.max_passes) or request.max_passes < 1:
        msg = f"max_passes must be an integer of at least 1. Got {request.max_passes!r}."
        raise InputError(msg)
    size = request.group_size
    is_auto = isinstance(size, str) and size == "auto"  # an array would compare entry by entry
    if not is_auto and (not is_integer(size) or int(size) < 1):
        msg = f"group_size must be an integer of at least 1, or 'auto'. Got {size!r}. The paper's algorithm is 1."
        raise InputError(msg)
    check_seed(request.seed)
    if request.proving is not None:
        _check_proving(request.proving)


def _check_proving(proving: Proving) -> None:
    if not is_integer(proving.rounds) or proving.rounds < 1:
        msg = f"rounds must be an integer of at least 1. Got {proving.rounds!r}. One round gives a bound already."
        raise InputError(msg)
    if not (isinstance(proving.target_gap, (int, float, np.number)) and 0 <= proving.target_gap < np.inf):
        msg = (
            f"target_gap must be a finite number of at least 0, a share of the value. Got {proving.target_gap!r}. "
            "Use 0 for the closest bound that the rounds give."
        )
        raise InputError(msg)


def check_context(context: Any, utility: Utility, candidates: Candidates) -> Totals:
    """What was decided elsewhere, with the labels of the candidates; nothing, where nothing is given."""
    n_labels = candidates.n_labels
    if context is None:
        zeros = np.zeros(n_labels)
        return Totals(zeros, zeros, zeros, 0.0, 0.0, zeros, zeros, zeros)
    if not isinstance(context, Totals):
        msg = f"context must be Totals, such as selection.totals. Got {type(context).__name__}. Use Totals.of."
        raise InputError(msg)
    context = space_of(candidates).read_totals(context)
    if context.n_labels != n_labels:
        msg = f"context covers {context.n_labels} labels, probabilities has {n_labels}. Give totals of the same labels."
        raise InputError(msg)
    check_totals(context)
    if context.log_failure is None and any(term.is_coverage for _, term in utility.terms):
        msg = (
            "context must hold failure probabilities, which coverage needs. Got none. Make it by "
            "Totals.of(selection, probabilities), or from a selection whose utility had coverage in it."
        )
        raise InputError(msg)
    return context


def check_condition_positives(given: Any, own: NDArray, n_instances: int, priors: LabelPriors | None) -> NDArray:
    """p of each label: as given, from the priors, or the candidates' own; never less than that."""
    if given is None:
        return own
    if isinstance(given, str):
        check_choice("condition_positives", given, ("priors",))
        if priors is None:
            msg = 'condition_positives="priors" needs priors. Got none. Give priors=training_labels (--priors FILE).'
            raise InputError(msg)
        given = priors.probabilities * n_instances
    p = as_dense(given, "condition_positives")
    if p.shape != own.shape or not (np.isfinite(p).all() and p.min() >= 0):
        msg = (
            f"condition_positives must be {own.size} finite numbers of at least 0, one per label. "
            f"Got shape {p.shape}{'' if p.size == 0 else f', smallest {p.min():g}'}."
        )
        raise InputError(msg)
    if p.max() > n_instances * (1 + 1e-9):
        msg = (
            f"condition_positives must be at most {n_instances}, the number of instances: no label has more positives "
            f"in the batch. Got {p.max():g}. Give expected counts in this batch, not in the training set."
        )
        raise InputError(msg)
    # The candidates' own expected positives are among them: with fewer, ratios such as recall would exceed 1.
    return np.maximum(np.where(p < SMALLEST, 0.0, p), own)


def _choose_expectation(expectation: str, utility: Utility) -> str:
    check_choice("expectation", expectation, EXPECTATIONS)
    return expectation if expectation != "auto" else "exact" if supports_exact(utility) else "semi"


def _choose_method(method: str, expectation: Expectation, rules: Rules) -> str:
    check_choice("method", method, METHODS)
    if not rules.has_budget:
        if method != "auto":
            msg = f"method must be 'auto' where there is no budget (k=None, -k none). Got {method!r}."
            raise InputError(msg)
        return "without-budget"
    if method == "auto":
        return "instance" if expectation.is_linear else "global" if _has_time(expectation) else "ascent"
    if method == "instance" and not expectation.is_linear:
        msg = (
            f"method='instance' needs a utility that is linear in the predictions. Got {expectation.utility}. "
            "Use method='ascent' (--method ascent)."
        )
        raise InputError(msg)
    return method


def _has_time(expectation: Expectation) -> bool:
    """Whether label passes are worth their time without being asked for."""
    is_slow = _needs_one_thread(expectation.utility) or expectation.uses_laws
    return expectation.candidates.n_entries <= MOST_GLOBAL_ENTRIES and not is_slow


def _needs_one_thread(utility: Utility) -> bool:
    """Plain Python formulas cannot be called from several threads at once."""
    return any(not getattr(term, "compiled", True) for _, term in utility.terms)


def choose_engine(engine: Any, workers: int | None, *, needs_one: bool) -> Engine:
    """An engine as it was given, or threads: one, if the work is too small to share or cannot be shared."""
    if isinstance(engine, str):
        check_choice("engine", engine, ("threads",))
        return Threads(workers, needs_one=needs_one)
    if not isinstance(engine, Engine):
        msg = (
            f"engine must be 'threads' or an Engine. Got {type(engine).__name__}. Derive a class from "
            "tailwise.engines.Engine."
        )
        raise InputError(msg)
    if workers is not None:
        msg = f"workers is for engine='threads'. Got {workers} beside an engine of its own. Leave it out."
        raise InputError(msg)
    return engine


def _is_quick(method: str, expectation: Expectation) -> bool:
    """Whether a proof costs so little that it may look for a better selection without being asked for."""
    is_small = expectation.candidates.n_entries <= MOST_PRICED_ENTRIES
    return method == "global" and is_small and is_provable(expectation.utility)


def _closer(proving: Proving | None) -> Proving | None:
    """A proof that is asked for improves the selection no less than the quick one would."""
    return None if proving is None else replace(proving, target_gap=min(proving.target_gap, QUICK.target_gap))


def _plan(method: str, *, repairs: bool, warms_up: bool) -> tuple[Step, ...]:
    """The steps of a method; a proof that is asked for repairs the selection itself."""
    plan: dict[str, tuple[Step, ...]] = {
        "without-budget": (no_budget,),
        "instance": (instance_wise,),
        "greedy": (greedy,),
        "ascent": (start, warm_up, bca),
        "global": (start, warm_up, bca, label_moves),
    }
    steps = tuple(step for step in plan[method] if warms_up or step is not warm_up)
    return (*steps, repair) if repairs else steps
