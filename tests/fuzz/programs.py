"""A problem and a call of it as lines that can be pasted into Python."""

import numpy as np
from fuzz.problems import DENSE, SPARSE, as_text
from fuzz.reference import FORMULAS

HEADER = "import numpy as np, scipy.sparse as sp, tailwise as tw"


def as_program(problem, mismatch):
    arguments = "".join(f", {name}={_literal(value)}" for name, value in mismatch.call.arguments.items())
    return "\n".join(
        (
            f"probabilities = {_input_literal(problem)}",
            f"tw.{mismatch.call.function}(probabilities, utility={_utility_literal(problem)}{arguments})",
            f"# {mismatch.kind}: {mismatch.detail}",
        )
    )


def _literal(value):
    return f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(value)


def _utility_literal(problem):
    if isinstance(problem.utility(), str):
        return repr(problem.utility())
    return " + ".join(f"{term.factor} * {_term_literal(term)}" for term in problem.terms)


def _term_literal(term):
    if term.name == "weighted":
        return f"tw.utilities.WeightedInstance({', '.join(map(str, term.parameters))})"
    if term.name in FORMULAS:
        return f"tw.utilities.Utility.from_formula(fuzz.reference.{FORMULAS[term.name].__name__})"
    return f"tw.utilities.as_utility({as_text(term._replace(factor=1.0))!r})"


def _input_literal(problem):
    probabilities = problem.probabilities()
    if problem.form == DENSE:
        return _typed(probabilities)
    if problem.form == SPARSE:
        indices, indptr = probabilities.indices.tolist(), probabilities.indptr.tolist()
        return f"sp.csr_array(({_typed(probabilities.data)}, {indices}, {indptr}), shape={problem.shape})"
    labels, values = probabilities
    return f"({_literal(labels)}, {_typed(values)})"


def _typed(numbers):
    return f"np.array({numbers.astype(float).tolist()}, dtype={numbers.dtype.name!r})"
