"""Offers: the price up to which a label would have an instance in its best set, the rest of the set staying as it is.

They tell where the price of a slot should be: between the offers of as many labels as the instance has room for, and
the offers of the others. A guess, of which no bound depends: what sets of one more and one less are worth is taken
from instances of the mean probability of the set.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.falling_worth import fill_net
from tailwise.kernels.nodes import phi
from tailwise.kernels.set_worth import block_of, coverage_of, is_affordable, line_of, row_of, take_weights
from tailwise.kernels.workbench import FIRST, HIGH, LAST, LOGS, LOW, SIZE, SUM

# Columns of the offers for an instance: the two lowest of labels that have it, the two highest of those that do not.
LEAST_OWN, NEXT_OWN, BEST_OTHER, NEXT_OTHER = range(4)
N_OFFERS = 4


def make_offers(n_instances):
    """No offers yet."""
    offers = np.full((n_instances, N_OFFERS), np.inf, np.float32)
    offers[:, BEST_OTHER:] = -np.inf
    return offers


@part
def note_own(offers, i, offer):
    if offer < offers[i, LEAST_OWN]:
        offers[i, NEXT_OWN], offers[i, LEAST_OWN] = offers[i, LEAST_OWN], offer
    elif offer < offers[i, NEXT_OWN]:
        offers[i, NEXT_OWN] = offer


@part
def note_other(offers, i, offer):
    if offer > offers[i, BEST_OTHER]:
        offers[i, NEXT_OTHER], offers[i, BEST_OTHER] = offers[i, BEST_OTHER], offer
    elif offer > offers[i, NEXT_OTHER]:
        offers[i, NEXT_OTHER] = offer


@step
def worth_of_like(worth, j, q, e, bench):
    """What a set of q instances of the same probability is worth without what is no line, and each of them."""
    constant, slope, offset = line_of(worth, j, q, q, q, 0.0, 0.0)
    value = slope * e + offset
    if worth.has_nodes:
        b = block_of(worth, j, q)
        linear, row, n_plain, base = worth.nodes.linear, row_of(worth, j, b), worth.nodes.n_plain, worth.nodes.base
        take_weights(worth, j, b, np.float64(q), bench)
        for r in range(linear.shape[2]):
            value += bench.weights[r] * phi(e if r < n_plain else 1.0 - e, linear[row, base, r])
    return constant + q * value, value


@bundle
class Crowding(NamedTuple):
    """What an instance of probability e changes for the members of the best set, which a net value does not say.

    If it leaves, the others gain `leaving` - `leaving_slope` e; if it comes, they lose `coming` + `coming_slope` e.
    """

    leaving: float
    leaving_slope: float
    coming: float
    coming_slope: float


@step
def crowding_of(worth, j, bench, size):
    """Crowding in the best set: none where there is one member or none."""
    q = np.int64(bench.found[SIZE])
    if q == 0:
        return Crowding(0.0, 0.0, 0.0, 0.0)
    mean = bench.found[SUM] / q
    now, one = worth_of_like(worth, j, q, mean, bench)
    leaving, leaving_slope, scale = 0.0, 0.0, max(mean, 1e-300)
    if q > 1:
        fewer, one_of_fewer = worth_of_like(worth, j, q - 1, mean, bench)
        leaving, leaving_slope = fewer + one_of_fewer - now, (one_of_fewer - one) / scale
    coming, coming_slope = leaving, leaving_slope  # about the same, where no larger set is known
    if q < size:
        more, one_of_more = worth_of_like(worth, j, q + 1, mean, bench)
        coming, coming_slope = now + one_of_more - more, (one - one_of_more) / scale
    return Crowding(leaving, leaving_slope, coming, coming_slope)


@step
def edge_of_set(bench, size):
    """The least net value of a member, and the largest of the others."""
    least, best = np.inf, -np.inf
    for x in range(size):
        if bench.is_best[x]:
            least = min(least, bench.net[x])
        else:
            best = max(best, bench.net[x])
    return least, best


@step
def fill_net_of_best(worth, j, bench, size):
    """Write what each candidate adds to the best set less its price, or to a set of one, into bench.net."""
    q, t = max(np.int64(1), np.int64(bench.found[SIZE])), bench.found[SUM]
    bench.ranges[0, FIRST], bench.ranges[0, LAST] = q, q
    bench.ranges[0, LOW], bench.ranges[0, HIGH] = 0.8 * t, 1.2 * t + 0.1
    fill_net(worth, j, bench, size, np.int64(0), q, coverage_of(worth, j) * np.exp(-bench.found[LOGS]))


@step
def note_loaded(bench, size, crowding, offers):
    """Note the offers for the candidates on the workbench.

    A member is left where its price is above its worth, or where another is the better choice; another comes where the
    set is better with it, or with it in the place of the weakest.
    """
    least, best = edge_of_set(bench, size)
    for x in range(size):
        e, offer = bench.values[x], bench.prices[x] + bench.net[x]
        if bench.is_best[x]:
            offer -= max(crowding.leaving - crowding.leaving_slope * e, best)
            note_own(offers, bench.instances[x], np.float32(offer))
        else:
            offer -= min(crowding.coming + crowding.coming_slope * e, least)
            note_other(offers, bench.instances[x], np.float32(offer))


@step
def note_lines(columns, prices, j, slope, offset, offers):
    """Note the offers for candidates that are not worth their price, by the line above what one instance is worth."""
    for place in range(columns.indptr[j], columns.indptr[j + 1]):
        i, e = columns.instances[place], np.float64(columns.values[place])
        if not is_affordable(slope, offset, e, prices[i]):
            note_other(offers, i, np.float32(slope * e + offset))


@step
def note_offers(worth, columns, prices, j, bench, size, slope, offset, offers):
    """Note the offers of label j for its candidates, of which `size` are on the workbench with the best set.

    The line lies above what one instance is worth. The other candidates matter where there is no set: beside one they
    are far from their price. Writes: offers; bench.net.
    """
    if size > 0:
        fill_net_of_best(worth, j, bench, size)
        note_loaded(bench, size, crowding_of(worth, j, bench, size), offers)
    if bench.found[SIZE] == 0.0:
        note_lines(columns, prices, j, slope, offset, offers)


@kernel
def merge_offers(offers, more):
    """Take the offers of other labels into account.

    Shapes: offers, more (n, N_OFFERS), float32. Writes: offers.
    """
    for i in range(offers.shape[0]):
        note_own(offers, i, more[i, LEAST_OWN])
        note_own(offers, i, more[i, NEXT_OWN])
        note_other(offers, i, more[i, BEST_OTHER])
        note_other(offers, i, more[i, NEXT_OTHER])
