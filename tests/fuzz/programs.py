"""A problem and a call of it as lines that can be pasted into Python."""

import numpy as np
import scipy.sparse as sp
from fuzz.problems import DENSE, MACRO_CLASSES, SPARSE, as_array, as_text, as_weights, group_of
from fuzz.reference import FORMULAS

HEADER = "import numpy as np, scipy.sparse as sp, tailwise as tw"


def as_program(problem, mismatch):
    arguments = "".join(f", {name}={_literal(value)}" for name, value in mismatch.call.arguments.items())
    context = [] if problem.context is None else [f"context = {_context_literal(problem.context)}"]
    arguments += ", context=context" if context else ""
    if problem.excluded and mismatch.call.function != "expected_utility":
        excluded = problem.exclusions()
        arguments += f", exclude={_literal(excluded.toarray() if sp.issparse(excluded) else excluded)}"
    return "\n".join(
        (
            f"probabilities = {_input_literal(problem)}",
            *context,
            f"tw.{mismatch.call.function}(probabilities, utility={_utility_literal(problem)}{arguments})",
            f"# {mismatch.kind}: {mismatch.detail}",
        )
    )


def _literal(value):
    return f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(value)


def _utility_literal(problem):
    if isinstance(problem.utility(), str):
        return repr(problem.utility())
    if group_of(problem.terms) is not None:
        first, rest = (_term_literal(term._replace(weights=())) for term in problem.terms)
        return f"tw.utilities.ByLabel([({group_of(problem.terms)}, {first})], rest={rest})"
    return " + ".join(f"{term.factor} * {_term_literal(term)}" for term in problem.terms)


def _term_literal(term):
    if term.name == "weighted":
        return f"tw.utilities.WeightedInstance({', '.join(map(str, term.parameters))})"
    if term.name in FORMULAS:
        weights = f", weights={list(term.weights)}" if term.weights else ""
        return f"tw.utilities.Utility.from_formula(fuzz.reference.{FORMULAS[term.name].__name__}{weights})"
    if term.weights:
        parameters = "".join(f"{parameter}, " for parameter in term.parameters)
        return f"tw.utilities.{MACRO_CLASSES[term.name]}({parameters}weights={as_weights(term.weights)})"
    return f"tw.utilities.as_utility({as_text(term._replace(factor=1.0))!r})"


def _context_literal(context):
    parts = " + ".join(_part_literal(part) for part in context.parts)
    return parts if context.scale == 1 else f"{context.scale} * ({parts})"


def _part_literal(part):
    labels, numbers = as_array(part.labels).tolist(), [list(row) for row in part.numbers]
    source = f"truth=sp.csr_array(np.array({numbers}))" if part.is_observed else f"probabilities=np.array({numbers})"
    return f"tw.Totals.of({labels}, {source})"


def _input_literal(problem):
    probabilities = problem.numbers()
    if problem.form == DENSE:
        return _typed(probabilities)
    if problem.form == SPARSE:
        indices, indptr = probabilities.indices.tolist(), probabilities.indptr.tolist()
        return f"sp.csr_array(({_typed(probabilities.data)}, {indices}, {indptr}), shape={problem.shape})"
    labels, values = probabilities
    return f"({_literal(labels)}, {_typed(values)})"


def _typed(numbers):
    return f"np.array({numbers.astype(float).tolist()}, dtype={numbers.dtype.name!r})"
