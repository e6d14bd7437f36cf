"""Random problems against the reference: a fixed number of them. `make fuzz` looks at as many as there is time for."""

import pytest
from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.programs import as_program

pytestmark = pytest.mark.boundscheck

N_BLOCKS, BLOCK_SIZE = 20, 25


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_random_problems(block):
    wrong = []
    for seed in range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE):
        problem = draw_problem(seed)
        wrong += [f"problem {seed}\n{as_program(problem, mismatch)}" for mismatch in check(problem)]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("seed", range(8))
def test_random_problems_of_many_instances(seed):
    problem = draw_problem(seed, large=True)
    wrong = [as_program(problem, mismatch) for mismatch in check(problem)]
    assert not wrong, "\n\n".join(wrong)
