"""Random problems: a seed is a problem.

Few things are compiled: shapes and numbers vary, types do not, and formulas of a user are shared by all problems.
"""

from dataclasses import replace

import numpy as np
from fuzz import feasible
from fuzz.elsewhere import Context, Part
from fuzz.problems import DENSE, MACRO_CLASSES, PAIR, SPARSE, Problem, without_row
from fuzz.reference import BY_LAWS, CURVED, FORMULAS, LINEAR, Term

MOST_SELECTIONS = 20_000

_TINY = (1e-42, 1e-300, 5e-324, 1e-20, 1e-9)
_WEIGHTS = (0.0, 0.0, 0.3, 1.0, 1.0, 2.5)
# Elsewhere, where negatives count at their mean, there are none or a thousandth of one at least.
_ELSEWHERE = (0.0, 0.0, 0.4, 1.0, 0.999, 1e-20)
_NEARLY_ONE = (1.0, 1 - 1e-16, 0.999)
_SCALES = (0.5, 0.1, 0.01, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
_PALETTES = {
    "plain": None,
    "ties": (0.2, 0.5, 0.5, 0.5),
    "edges": (0.0, 0.3, 0.5, *_NEARLY_ONE, *_TINY),
    "tiny": (0.0, *_TINY, *_TINY, 0.4),
    "sure": (*_NEARLY_ONE, *_NEARLY_ONE, 0.5),
}


def draw_problem(seed, *, large=None):
    """The problem of a seed; one in twenty has 51 instances, which may need several threads and never enumeration."""
    rng = np.random.default_rng(seed)
    large = rng.random() < 0.05 if large is None else large
    n, m = (51, 3) if large else (int(rng.integers(1, 7)), int(rng.integers(1, 6)))
    dtype, form = str(rng.choice(["float64", "float32"])), str(rng.choice([DENSE, SPARSE, SPARSE, PAIR]))
    matrix, stored = _draw_numbers(rng, n, m, dtype, form)
    terms = _draw_terms(rng, matrix.shape[1])
    k = _draw_budget(rng, *matrix.shape)
    problem = Problem(
        seed,
        matrix,
        stored,
        dtype,
        form,
        terms,
        k,
        expectation=str(rng.choice(["auto", "semi", "exact"])),
        method=_draw_method(rng, terms, k),
        fill=str(rng.choice(["auto", "auto", "least-loss", "none"])),
        init=str(rng.choice(["top", "random", "greedy", "given"])),
        given=(),
    )
    problem = replace(problem, given=_draw_selection(rng, problem))
    while problem.is_small and feasible.count_selections(problem.choices(problem.given)) > MOST_SELECTIONS:
        problem = without_row(problem, problem.shape[0] - 1)
    # What came later is drawn last, so that the rest of a problem stays what it was.
    if rng.random() < 0.25:
        problem = replace(problem, terms=_draw_weights(rng, problem))
    if rng.random() < 0.2:
        problem = replace(problem, context=_draw_context(rng, problem.shape[1]))
    if rng.random() < 0.25:
        problem = _draw_excluded(rng, problem)
    return problem


def _draw_numbers(rng, n, m, dtype, form):
    """Probabilities, and which of them are candidates; some rows are short or empty, some labels tiny throughout."""
    palette = _PALETTES[str(rng.choice(list(_PALETTES)))]
    matrix = np.round(rng.beta(0.5, 1.0, (n, m)), 3) if palette is None else rng.choice(palette, (n, m))
    density = rng.choice([1.0, 0.8, 0.5])
    stored = rng.random((n, m)) < density
    if rng.random() < 0.3:
        stored[rng.integers(n)] = False
    if rng.random() < 0.2:
        matrix[:, rng.integers(m)] = rng.choice(_TINY)
    matrix = np.where(stored, matrix, 0.0).astype(dtype).astype(np.float64)
    if form == DENSE:
        return matrix, matrix != 0
    if rng.random() < 0.7:  # no stored zeros
        stored &= matrix != 0
    if form == PAIR:
        stored[0, m - 1] = True
    return matrix, stored


def _draw_terms(rng, m):
    names = [*LINEAR, *CURVED, *CURVED, *BY_LAWS]
    if rng.random() < 0.06:
        names = list(FORMULAS)
    size = 2 if rng.random() < 0.3 else 1
    factors = (1.0,) if size == 1 else (0.7, 0.3)
    if size == 2 and rng.random() < 0.5:  # with a linear part, as most mixtures in use
        chosen = [str(rng.choice(LINEAR)), str(rng.choice(names))]
    else:
        chosen = [str(name) for name in rng.choice(names, size)]
    return tuple(Term(f, name, _draw_parameters(rng, name, m)) for f, name in zip(factors, chosen, strict=True))


def _draw_parameters(rng, name, m):
    if name == "macro-fbeta":
        return (float(rng.choice([0.5, 2.0, 3.0])),)
    if name == "weighted":
        # w11 + w00 >= w01 + w10: a utility grows with t.
        low, high = np.round(rng.uniform(-0.5, 0.2, (2, m)), 2), np.round(rng.uniform(0.3, 2.0, (2, m)), 2)
        return tuple(tuple(weights.tolist()) for weights in (high[0], low[0], low[1], high[1]))
    return ()


def _draw_budget(rng, n, m):
    kind = rng.random()
    if kind < 0.15:
        return None
    if kind < 0.6:
        return int(rng.integers(1, m + 1))
    return tuple(rng.integers(0, m + 1, n).tolist())


def _draw_method(rng, terms, k):
    if k is None:
        return "auto"
    methods = ["auto", "ascent", "global", "greedy"]
    if all(term.name in LINEAR for term in terms):
        methods += ["instance", "instance"]
    return str(rng.choice(methods))


def _draw_weights(rng, problem):
    """The terms with weights per label on those that are means over labels; or another term for another group."""
    m = problem.shape[1]
    names = [name for name in MACRO_CLASSES if name in LINEAR or not problem.is_linear]
    if problem.terms[0].name in MACRO_CLASSES and rng.random() < 0.25:
        other, in_group = str(rng.choice(names)), rng.random(m) < 0.5
        first = problem.terms[0]._replace(factor=1.0, weights=tuple(np.where(in_group, 1.0, 0.0).tolist()))
        rest = tuple(np.where(in_group, 0.0, 1.0).tolist())
        return first, Term(1.0, other, _draw_parameters(rng, other, m), rest)
    terms = []
    for term in problem.terms:
        palette = _WEIGHTS if term.name in MACRO_CLASSES else (0.0, 1.0) if term.name in FORMULAS else None
        weights = () if palette is None else tuple(rng.choice(palette, m).tolist())
        terms.append(term._replace(weights=weights))
    return tuple(terms)


def _draw_context(rng, m):
    """Expected, observed, or both; in a third of the problems only a part of it counts."""
    kinds = [(False,), (True,), (False, True)][int(rng.integers(3))]
    parts = tuple(_draw_part(rng, m, is_observed=is_observed) for is_observed in kinds)
    return Context(parts, _SCALES[int(len(_SCALES) * rng.random())])


def _draw_part(rng, m, *, is_observed):
    n = int(rng.integers(1, 5))
    if is_observed:
        numbers = (rng.random((n, m)) < 0.4).astype(int)
    elif rng.random() < 0.5:
        numbers = np.round(rng.beta(0.5, 1.0, (n, m)), 3)
    else:
        numbers = rng.choice(_ELSEWHERE, (n, m))
    labels = tuple(tuple(rng.permutation(m)[: int(rng.integers(0, m + 1))].tolist()) for _ in range(n))
    return Part(tuple(map(tuple, numbers.tolist())), labels, is_observed)


def _draw_excluded(rng, problem):
    """Pairs of all kinds, candidates or not; or the same labels for all instances."""
    n, m = problem.shape
    excluded = rng.random((n, m)) < rng.choice([0.2, 0.5, 0.9])
    excluded = np.broadcast_to(excluded[0], (n, m)) if rng.random() < 0.25 else excluded
    rows = tuple(tuple(np.flatnonzero(row).tolist()) for row in excluded)
    given = tuple(tuple(j for j in own if j not in row) for own, row in zip(problem.given, rows, strict=True))
    return replace(problem, excluded=rows, given=given)


def _draw_selection(rng, problem):
    """Labels of all kinds, candidates or not; with some slots empty in half of the problems."""
    m = problem.shape[1]
    is_partial, rows = rng.random() < 0.5, []
    for budget in problem.budgets:
        most = m if budget is None else budget
        size = int(rng.integers(0, most + 1)) if is_partial else most
        rows.append(tuple(rng.permutation(m)[:size].tolist()))
    return tuple(rows)
