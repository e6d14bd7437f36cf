"""From prices to better ones: what labels offer, compared with all sets; steps; and when a selection is looked for."""

import numpy as np
import pytest
from reference import optimum
from reference import selection as reference

import tailwise as tw
from tailwise.certificates.price_steps import MOST, ToOffers, middle_of_offers
from tailwise.certificates.prices import Bound, descend
from tailwise.datasets import zipf_candidates
from tailwise.kernels.slot_offers import BEST_OTHER, LEAST_OWN, NEXT_OWN, make_offers
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve


def problem_of(matrix, utility, expectation, workers=1):
    return resolve(Request(matrix, utility, 1, expectation=expectation, workers=workers))


def bound_of(problem):
    """The bound, with room for one label each; the problem, whose formulas it has the addresses of, must be kept."""
    n, m = problem.candidates.shape
    columns, worth = problem.candidates.columns(problem.engine), problem.expectation.worth
    room, sizes = np.ones(n, np.int64), np.ones(m)
    return Bound(worth, columns, room, sizes, problem.engine, has_time=lambda: True)


def offers_of(matrix, utility, expectation, prices, workers=1):
    problem = problem_of(matrix, utility, expectation, workers)
    return bound_of(problem).at(prices, 1.0, wants_offers=True)


def offers_by_all_sets(table, prices):
    """Per label and instance: the price at which the best set keeps a member, or another would come.

    NaN where the label has a set, and the instance is not worth its price by itself. Sets are numbers of bits.
    """
    n = prices.size
    paid = np.array([sum(prices[i] for i in range(n) if number >> i & 1) for number in range(2**n)])
    offers, is_own = np.full((len(table), n), np.nan), np.zeros((len(table), n), np.bool_)
    for j, worths in enumerate(np.asarray(table) - np.asarray(table)[:, :1]):
        net = worths - paid
        best = int(net.argmax())
        for i in range(n):
            bit = 1 << i
            others = [1 << a for a in range(n) if a != i]
            is_own[j, i] = best & bit != 0
            if is_own[j, i]:
                rest = best & ~bit
                instead = max(net[rest], *(net[rest | other] for other in others if not rest & other))
                offers[j, i] = net[best] + prices[i] - instead
            elif best == 0 or net[bit] > 0:
                joined = max(net[best | bit], *(net[best & ~other | bit] for other in others if best & other), -np.inf)
                offers[j, i] = joined + prices[i] - net[best]
    return offers, is_own


def extremes(offers, is_own):
    """The two lowest offers of labels that have an instance, the two highest of the others."""
    found = np.empty((offers.shape[1], 4))
    for i in range(offers.shape[1]):
        own = sorted(offers[is_own[:, i], i])
        other = sorted(offers[~is_own[:, i] & np.isfinite(offers[:, i]), i])
        found[i] = *[*own, np.inf, np.inf][:2], *[-np.inf, -np.inf, *other][:-3:-1]
    return found


@pytest.mark.boundscheck
@pytest.mark.parametrize("workers", [1, 2])
def test_offers_are_what_an_instance_is_worth_to_the_best_sets(workers):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        matrix, prices = rng.beta(0.8, 1.0, (6, 5)), rng.random(6) * 0.12
        wanted = extremes(
            *offers_by_all_sets(optimum.tabulate_labels(matrix, "macro-f1", optimum.count_slots(1, 6), "semi"), prices)
        )
        found = offers_of(matrix, "macro-f1", "semi", prices, workers).offers
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7, err_msg=str(seed))


@pytest.mark.boundscheck
def test_offers_by_exact_expectations_where_instances_are_alike():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix, prices = np.tile(rng.beta(0.8, 1.0, 4), (5, 1)), rng.random(5) * 0.1
        wanted = extremes(
            *offers_by_all_sets(optimum.tabulate_labels(matrix, "macro-f1", optimum.count_slots(1, 5), "exact"), prices)
        )
        found = offers_of(matrix, "macro-f1", "exact", prices).offers
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6, err_msg=str(seed))


@pytest.mark.parametrize("utility", ["macro-jaccard", "coverage", "macro-balanced-accuracy", "hamming", "macro-recall"])
@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_offers_of_all_utilities_are_numbers(utility, expectation):
    matrix = reference.random_matrix(3, 20, 8, density=0.7)
    found = offers_of(matrix, utility, expectation, np.full(20, 0.01))
    assert not np.isnan(found.offers).any()
    assert np.isfinite(found.offers).any()


def test_the_middle_parts_as_many_labels_as_there_is_room():
    offers = make_offers(6)
    offers[:4] = [0.6, 0.8, 0.4, 0.1]
    offers[4, [LEAST_OWN, NEXT_OWN]] = 0.5, 0.7  # no other candidates
    wanted = middle_of_offers(offers, np.array([0, 1, -1, 3, 0, 0]))
    # Two labels more that are too many are taken to be as far apart as the two that are known.
    np.testing.assert_allclose(wanted[:5], [0.5, 0.7, 0.25, 0.7 + 2 * 0.2, 0.5], rtol=1e-6)
    assert not np.isfinite(wanted[5])


def test_steps_to_offers_go_a_part_of_the_way():
    prices, room = np.array([1.0, 1.0, 1.0, 1e6]), np.array([1, 1, 1, 0])
    offers = make_offers(4)
    offers[0, [LEAST_OWN, BEST_OTHER]] = 1.04, 1.0
    offers[1, [LEAST_OWN, BEST_OTHER]] = 9.0, 8.0
    found = type("Found", (), {"offers": offers, "excess": np.zeros(4, int)})
    np.testing.assert_allclose(ToOffers(prices, room).step(prices, found), [1.02, 1 + MOST, 1.0, 1e6], rtol=1e-6)


@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_all_rounds_can_be_read_to_the_end(rounds):
    problem = problem_of(reference.random_matrix(3, 20, 8, density=0.7), "macro-f1", "semi")
    bound = bound_of(problem)
    (*_, last) = descend(bound, np.full(20, 0.01), np.zeros(20), rounds)
    assert len(last.history) == rounds
    assert last.history == sorted(last.history, reverse=True)
    assert bound.at(last.best, 1.0).upper == pytest.approx(last.upper, rel=1e-6)


def test_no_selection_is_looked_for_where_the_gap_is_as_asked():
    matrix = zipf_candidates(1000, 600, 20)
    plain, proved = (tw.select(matrix, "macro-f1", 3, certify=certify) for certify in (False, True))
    assert proved.certificate.relative_gap <= 1e-3
    assert proved.certificate.finished
    assert proved.labels.tobytes() == plain.labels.tobytes()


def test_a_proof_that_a_better_selection_completes_is_finished():
    matrix = zipf_candidates(300, 200, 15)
    plain, proved = (
        tw.select(matrix, "macro-precision", 3, method=method, certify=method == "global", expectation="semi")
        for method in ("ascent", "global")
    )
    assert proved.expected >= plain.expected
    assert proved.certificate.finished
