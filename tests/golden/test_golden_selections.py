"""The same labels as were recorded, on every machine and any number of threads."""

import pytest
from golden.problems import describe, list_problems, read_golden

import tailwise as tw

PROBLEMS = {name: (call, options) for name, call, options in list_problems()}
UTILITIES = sorted({call[1] for call, _ in PROBLEMS.values()})


def test_every_problem_is_recorded():
    assert set(read_golden()) == set(PROBLEMS)


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_labels_recorded(utility):
    golden = read_golden()
    for name, (call, options) in PROBLEMS.items():
        if call[1] == utility:
            found = describe(tw.select(*call, **options))
            assert found[1] == pytest.approx(golden[name][1], rel=1e-9, abs=1e-12), name
            assert found[0] == golden[name][0], name
