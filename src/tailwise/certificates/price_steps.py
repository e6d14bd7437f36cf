"""From prices to better ones: first towards what labels offer, then against the excess of those who want a slot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.kernels.slot_offers import BEST_OTHER, LEAST_OWN, NEXT_OTHER, NEXT_OWN

# A step towards the offers moves a price by at most MOST of its scale, as the offers come to meet it when other prices
# move; and by 1 / (1 + FALL r) of the way in step r = 0, 1, ..., so that prices that overshoot settle.
MOST, FALL = 0.2, 0.5
# A step against the excess moves a price by at most this share of its scale, less and less towards the last round.
STEP = 0.04
# How much of the direction and of its square is kept from round to round (Adam; Kingma and Ba, 2015).
KEPT, KEPT_SQUARE = 0.9, 0.99
# Added to the root of the mean square of a direction, which counts slots: a price that is nearly right moves little.
DAMPING = 0.3
# The scale of a price is its size where the steps begin, but at least this share of the mean.
LEAST_SCALE = 0.02


class Found(NamedTuple):
    """What a round finds out about prices."""

    upper: float  # the bound that they give
    excess: NDArray  # (n,): how many labels too many want an instance
    offers: NDArray  # (n, N_OFFERS); (0, N_OFFERS) where they were not wanted


class ToOffers:
    """Steps towards the middle between the offers that the price should part."""

    def __init__(self, prices: NDArray, room: NDArray) -> None:
        self._scale, self._n_steps = scale_of(prices, room), 0

    def step(self, prices: NDArray, found: Found) -> NDArray:
        wanted = middle_of_offers(found.offers, found.excess)
        way = np.where(np.isfinite(wanted), wanted - prices, 0.0) / (1 + FALL * self._n_steps)
        self._n_steps += 1
        return prices + np.clip(way, -MOST * self._scale, MOST * self._scale)


class AgainstExcess:
    """Subgradient steps, `most` of them: all prices of instances that are wanted too often or too rarely move."""

    def __init__(self, prices: NDArray, room: NDArray, most: int) -> None:
        self._scale, self._n_steps, self._most = scale_of(prices, room), 0, most
        self._direction, self._square = np.zeros_like(prices), np.zeros_like(prices)

    def step(self, prices: NDArray, found: Found) -> NDArray:
        left, self._n_steps = 1 - self._n_steps / self._most, self._n_steps + 1
        self._direction = KEPT * self._direction + (1 - KEPT) * found.excess
        self._square = KEPT_SQUARE * self._square + (1 - KEPT_SQUARE) * found.excess**2.0
        direction = self._direction / (1 - KEPT**self._n_steps)
        pace = np.sqrt(self._square / (1 - KEPT_SQUARE**self._n_steps)) + DAMPING
        return prices + STEP * left * self._scale * direction / pace


def scale_of(prices: NDArray, room: NDArray) -> NDArray:
    """The unit of the steps of each price; an instance without a slot keeps its price, which is beyond all worth."""
    sizes = np.where(room > 0, np.abs(prices), 0.0)
    return np.where(room > 0, np.maximum(sizes, LEAST_SCALE * sizes.mean()), 0.0)


def middle_of_offers(offers: NDArray, excess: NDArray) -> NDArray:
    """The price at which an instance would have one label less if it has too many, one more if it has too few.

    Not finite where there is no offer.
    """
    own, other = offers[:, LEAST_OWN].astype(np.float64), offers[:, BEST_OTHER].astype(np.float64)
    above = np.where(excess > 0, offers[:, NEXT_OWN], np.where(excess < 0, other, own))
    below = np.where(excess > 0, own, np.where(excess < 0, offers[:, NEXT_OTHER], other))
    # Where there is an offer on one side only, the price goes there.
    above, below = np.where(np.isfinite(above), above, below), np.where(np.isfinite(below), below, above)
    with np.errstate(invalid="ignore"):  # of two offers that are missing
        # Further labels are taken to be as far apart as the two that are known.
        beyond = np.sign(excess) * np.maximum(np.abs(excess) - 1, 0) * np.maximum(0.0, above - below)
        return (above + below) / 2 + beyond
