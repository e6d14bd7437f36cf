"""Smaller problems with the same mismatch."""

from dataclasses import replace

import numpy as np
from fuzz.checks import check
from fuzz.problems import DENSE, PAIR, SPARSE, fit_pair, without_row


def shrink(problem, mismatch, most_checks=300):
    """A smaller problem with its mismatch, made step by step as long as one of the same kind and call stays."""
    steps = iter(_smaller(problem))
    for _ in range(most_checks):
        smaller = next(steps, None)
        if smaller is None:
            break
        same = [other for other in check(smaller) if _is_alike(other, mismatch)]
        if same:
            problem, mismatch, steps = smaller, same[0], iter(_smaller(smaller))
    return problem, mismatch


def _is_alike(a, b):
    return (a.kind, a.call.name) == (b.kind, b.call.name)


def _smaller(problem):
    n, m = problem.shape
    if n > 1:
        yield from (without_row(problem, i) for i in range(n))
    if m > 1:
        yield from (_without_label(problem, j) for j in range(m))
    if len(problem.terms) > 1:
        yield from (replace(problem, terms=(term._replace(factor=1.0),)) for term in problem.terms)
    yield from _less_context(problem)
    yield from _fewer_excluded(problem)
    yield from _plainer_weights(problem)
    yield from _plainer_options(problem)
    yield from _fewer_given(problem)
    yield from _plainer_numbers(problem)


def _without_label(problem, j):
    rest = [label for label in range(problem.shape[1]) if label != j]
    most = len(rest)
    k = tuple(min(budget, most) for budget in problem.k) if isinstance(problem.k, tuple) else problem.k
    given = tuple(tuple(rest.index(label) for label in row if label != j) for row in problem.given)
    smaller = replace(
        problem,
        matrix=problem.matrix[:, rest],
        stored=problem.stored[:, rest],
        terms=tuple(_term_without_label(term, j) for term in problem.terms),
        k=min(k, most) if isinstance(k, int) else k,
        given=given,
        excluded=tuple(tuple(rest.index(label) for label in row if label != j) for row in problem.excluded),
        context=None if problem.context is None else _context_without_label(problem.context, j),
    )
    return fit_pair(smaller)


def _term_without_label(term, j):
    term = term._replace(weights=_without(term.weights, j))
    if term.name != "weighted":
        return term
    return term._replace(parameters=tuple(_without(weights, j) for weights in term.parameters))


def _context_without_label(context, j):
    parts = (
        part._replace(
            numbers=tuple(_without(row, j) for row in part.numbers),
            labels=tuple(tuple(label - (label > j) for label in row if label != j) for row in part.labels),
        )
        for part in context.parts
    )
    return context._replace(parts=tuple(parts))


def _without(numbers, j):
    return (*numbers[:j], *numbers[j + 1 :])


def _less_context(problem):
    """No context, no scale, a part less, an instance of a part less, an empty selection of one."""
    context = problem.context
    if context is None:
        return
    yield replace(problem, context=None)
    if context.scale != 1:
        yield replace(problem, context=context._replace(scale=1.0))
    for x, part in enumerate(context.parts):
        rest = _without(context.parts, x)
        if rest:
            yield replace(problem, context=context._replace(parts=rest))
        yield from (replace(problem, context=context._replace(parts=(*rest, less))) for less in _smaller_parts(part))


def _smaller_parts(part):
    for i, row in enumerate(part.labels):
        if len(part.labels) > 1:
            yield part._replace(numbers=_without(part.numbers, i), labels=_without(part.labels, i))
        if row:
            yield part._replace(labels=(*part.labels[:i], row[1:], *part.labels[i + 1 :]))
        for j, number in enumerate(part.numbers[i]):
            if number:
                numbers = (*part.numbers[i][:j], 0, *part.numbers[i][j + 1 :])
                yield part._replace(numbers=(*part.numbers[:i], numbers, *part.numbers[i + 1 :]))


def _plainer_weights(problem):
    """No weights, or one of them 1."""
    for x, term in enumerate(problem.terms):
        changes = [()] if term.weights else []
        for j, weight in enumerate(term.weights):
            if weight != 1:
                changes.append((*term.weights[:j], 1.0, *term.weights[j + 1 :]))
        for weights in changes:
            yield replace(problem, terms=(*problem.terms[:x], term._replace(weights=weights), *problem.terms[x + 1 :]))


def _plainer_options(problem):
    """Options in order of plainness: only a step towards the front is tried, so that it ends."""
    orders = {"method": ("ascent", "auto"), "init": ("top",), "expectation": ("semi", "exact"), "fill": ("none",)}
    for name, plain in orders.items():
        now = getattr(problem, name)
        before = plain[: plain.index(now)] if now in plain else plain
        if not (name == "method" and problem.k is None):
            yield from (replace(problem, **{name: word}) for word in before)
    if problem.dtype != "float64":
        yield replace(problem, dtype="float64")
    if problem.form in (SPARSE, PAIR) and (problem.stored == (problem.matrix != 0)).all():
        yield replace(problem, form=DENSE)
    if problem.form == PAIR:
        yield replace(problem, form=SPARSE)
    if isinstance(problem.k, tuple):
        yield replace(problem, k=max(1, *problem.k, 1))
    elif isinstance(problem.k, int) and problem.k > 1:
        smaller = tuple(row[: problem.k - 1] for row in problem.given)
        yield replace(problem, k=problem.k - 1, given=smaller)


def _fewer_given(problem):
    for i, row in enumerate(problem.given):
        for j in row:
            given = [*problem.given]
            given[i] = tuple(label for label in row if label != j)
            yield replace(problem, given=tuple(given))


def _fewer_excluded(problem):
    if problem.excluded:
        yield replace(problem, excluded=())
    for i, row in enumerate(problem.excluded):
        for x in range(len(row)):
            yield replace(problem, excluded=(*problem.excluded[:i], _without(row, x), *problem.excluded[i + 1 :]))


def _plainer_numbers(problem):
    plain = (0.0, 0.5, 1.0)
    for (i, j), number in np.ndenumerate(problem.matrix):
        for plainer in plain[: plain.index(number)] if number in plain else plain:
            matrix, stored = problem.matrix.copy(), problem.stored.copy()
            matrix[i, j] = plainer
            if problem.form == DENSE:
                stored = matrix != 0
            elif plainer and not stored[i, j]:
                continue
            yield replace(problem, matrix=matrix, stored=stored)
        if number == 0 and problem.stored[i, j] and problem.form != DENSE:
            stored = problem.stored.copy()
            stored[i, j] = False
            yield fit_pair(replace(problem, stored=stored))
