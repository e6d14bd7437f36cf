"""What was decided elsewhere, in plain Python: parts that add up, and what they come to for a label.

A part is a selection for other instances, with their probabilities or with what turned out to be true. Expected hits
and misses are Poisson variables by exact expectation, and observed ones are constants. Nothing from tailwise.
"""

import math
from typing import NamedTuple


class Part(NamedTuple):
    """Numbers of other instances, a tuple for each, and their labels; numbers are 0 or 1 where they were observed."""

    numbers: tuple
    labels: tuple
    is_observed: bool


class Context(NamedTuple):
    """The sum of parts, times a scale."""

    parts: tuple
    scale: float = 1.0

    @property
    def n_instances(self):
        return self.scale * sum(len(part.numbers) for part in self.parts)

    @property
    def n_slots(self):
        return self.scale * sum(len(row) for part in self.parts for row in part.labels)


class Elsewhere(NamedTuple):
    """Of one label: hits and misses that are expected and that are known, predictions, instances, chance of no hit."""

    hits: float = 0.0
    misses: float = 0.0
    known_hits: float = 0.0
    known_misses: float = 0.0
    q: float = 0.0
    n: float = 0.0
    failure: float = 1.0

    @property
    def t(self):
        return self.hits + self.known_hits

    @property
    def p(self):
        return self.t + self.misses + self.known_misses


NOTHING = Elsewhere()


def elsewhere_of(context, j):
    """What a context comes to for label j."""
    if context is None:
        return NOTHING
    expected, observed = ([part for part in context.parts if part.is_observed == is_so] for is_so in (False, True))
    hits, misses = _count(expected, j)
    known_hits, known_misses = _count(observed, j)
    numbers = (sum(hits), sum(misses), sum(known_hits), sum(known_misses), _count_predictions(context, j))
    failure = math.prod(1 - eta for eta in (*hits, *known_hits))
    return Elsewhere(*(context.scale * number for number in numbers), context.n_instances, failure**context.scale)


def poisson(mean):
    """The law of a Poisson variable, up to where nothing is left of it."""
    law = [math.exp(-mean)]
    while mean and (len(law) <= mean or law[-1] > 1e-19):
        law.append(law[-1] * mean / len(law))
    return law


def _count(parts, j):
    """The numbers of label j for the instances that have it, and for those that have not."""
    taken = [row[j] for part in parts for row, labels in zip(part.numbers, part.labels, strict=True) if j in labels]
    left = [row[j] for part in parts for row, labels in zip(part.numbers, part.labels, strict=True) if j not in labels]
    return taken, left


def _count_predictions(context, j):
    return sum(j in labels for part in context.parts for labels in part.labels)
