"""Explanations of a selection: facts for programs, sentences for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Explanation", "LabelExplanation", "Reason"]

ENDINGS = {1: "st", 2: "nd", 3: "rd"}
# A chosen label only makes up the number k if its probability is below the first, and its gain below this share of the
# largest gain of its instance. The page of a report (templates/records.js) has the same two.
UNLIKELY, LITTLE = 0.01, 0.05


@dataclass(frozen=True)
class Reason:
    """What speaks for one label of one instance, at the final totals of the selection.

    Attributes
    ----------
    label, name : int, str
        The number of the label, and its title.
    chosen : bool
        Whether the label is chosen for this instance.
    probability, rank : float, int or None
        The probability, and its place among the candidates of the instance, from 1. None for a label that is no
        candidate, or is excluded.
    gain : float
        What the utility would lose without a chosen label, or gain by another one.
    lacks : float or None
        By how much the gain of a label that is not chosen is below that of the weakest chosen one, or below 0.
    held_back : str or None
        What kept a label out: "exclusion", "budget" or, where there is room, "gain".
    times_chosen : int
        How many instances of the batch have the label.
    expected : float
        How many instances are expected to have it, p of the utility.
    training : int or None
        How many training instances have it, if that is known.
    makes_up_number : bool
        Whether a label is chosen only because the instance is to have k of them: its probability is below 1 %, and its
        gain below a twentieth of the largest gain of the instance, or negative.
    """

    label: int
    name: str
    chosen: bool
    probability: float
    rank: int | None
    gain: float
    lacks: float | None
    held_back: str | None
    times_chosen: int
    expected: float
    training: int | None
    makes_up_number: bool = False

    @property
    def sentence(self) -> str:
        """Return the reason in plain words."""
        no_place = "excluded" if self.held_back == "exclusion" else "not a candidate"
        place = no_place if self.rank is None else f"{_ordinal(self.rank)} by probability"
        rarity = f"chosen for {_count(self.times_chosen, 'instance')}, {self.expected:.3g} expected"
        rarity += "" if self.training is None else f", {self.training:,} in training"
        worth = f"{self.name} ({self.probability:.1%}, {place})"
        if self.chosen and self.gain < 0:
            return f"{worth} makes up the number of labels: it costs {_size(-self.gain)}. It is {rarity}."
        if self.chosen and self.makes_up_number:
            little = f"it is unlikely, and without it the utility would be only {_size(self.gain)} lower"
            return f"{worth} makes up the number of labels: {little}. It is {rarity}."
        if self.chosen:
            return f"{worth} is chosen: without it the utility would be {_size(self.gain)} lower. It is {rarity}."
        if self.held_back == "gain":
            return f"{worth} is not chosen: it would change the utility by {self.gain:+.2g}. It is {rarity}."
        change = f"add {_size(self.gain)}" if self.gain >= 0 else f"cost {_size(-self.gain)}"
        if self.held_back == "exclusion":
            return f"{worth} could not be chosen; it would {change}. It is {rarity}."
        less = f"{_size(self.lacks or 0.0)} less than the weakest chosen label"
        return f"{worth} is not chosen: it would {change}, {less}. It is {rarity}."


@dataclass(frozen=True)
class Explanation:
    """Why an instance was given its labels.

    Attributes
    ----------
    instance, name : int, str
        The row, and the name of the instance.
    labels : tuple of Reason
        The chosen labels, best gain first.
    others : tuple of Reason
        The best labels that were not chosen, best gain first.
    budget : int or None
        The number of labels that the instance may have; None for no budget.
    n_candidates : int
        The number of its candidates.
    utility : str
        What was maximised.
    """

    instance: int
    name: str
    labels: tuple[Reason, ...]
    others: tuple[Reason, ...]
    budget: int | None
    n_candidates: int
    utility: str

    @property
    def sentence(self) -> str:
        """Return a summary in one sentence."""
        if self.n_candidates == 0:
            left = " that are not excluded" if self.others else ""
            return f"{self.name} has no candidates{left}, so that no label could be chosen for it by probability."
        if not self.labels:
            return f"{self.name} was given no label."
        return f"{self.name} was given {self._describe_choice()}."

    def _describe_choice(self) -> str:
        ranks = [reason.rank for reason in self.labels if reason.rank is not None]
        n_more = len(self.labels) - len(ranks)
        filled = f"{_count(n_more, 'label')} that {'is no candidate' if n_more == 1 else 'are no candidates'}"
        if not ranks:
            return filled
        more, best = f"; it also has {filled}" if n_more else "", max(ranks)
        if best <= len(ranks):
            return f"its {'' if best == 1 else f'{best:,} '}most probable label{'' if best == 1 else 's'}{more}"
        goal, place = f"most to {self.utility} of the whole batch", f"only {_ordinal(best)} by probability"
        if len(ranks) == 1:
            return f"the label that adds {goal}; it is {place}{more}"
        return f"{len(ranks):,} labels that add {goal}; the least probable of them is {place}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts, and the sentences, as a dict of plain values."""
        parts = {key: [{**asdict(each), "sentence": each.sentence} for each in getattr(self, key)] for key in PARTS}
        return {**asdict(self), **parts, "sentence": self.sentence}

    def __str__(self) -> str:
        lines = [self.sentence, *(f"  {each.sentence}" for each in self.labels)]
        others = ["Next best:", *(f"  {each.sentence}" for each in self.others)] if self.others else []
        return "\n".join([*lines, *others])


PARTS = ("labels", "others")


@dataclass(frozen=True)
class LabelExplanation:
    """Where a label is chosen, and what it gains there.

    Attributes
    ----------
    label, name : int, str
        The number of the label, and its title.
    times_chosen, n_candidates : int
        How many instances have it, and how many could have it.
    expected : float
        How many instances are expected to have it.
    training : int or None
        How many training instances have it, if that is known.
    instances : tuple of (Any, float, float)
        Instance, probability and gain where it is chosen, best gain first. Instances are ids, or numbers if there are
        no ids.
    others : tuple of (Any, float, float)
        The same for the most probable instances where it is not chosen.
    """

    label: int
    name: str
    times_chosen: int
    n_candidates: int
    expected: float
    training: int | None
    instances: tuple[tuple[Any, float, float], ...]
    others: tuple[tuple[Any, float, float], ...]

    @property
    def sentence(self) -> str:
        """Return a summary in one sentence."""
        training = "" if self.training is None else f", {self.training:,} in training"
        return (
            f"{self.name} is chosen for {self.times_chosen:,} of {_count(self.n_candidates, 'instance')} that could "
            f"have it; {self.expected:.3g} are expected to have it{training}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all facts, and the sentence, as a dict of plain values."""
        lists = {
            key: [{"instance": _plain(i), "probability": e, "gain": gain} for i, e, gain in getattr(self, key)]
            for key in LISTS
        }
        return {**asdict(self), **lists, "sentence": self.sentence}

    def __str__(self) -> str:
        rows = [
            f"  instance {i}: {e:.1%}, without it the utility would be {_size(abs(gain))} "
            f"{'lower' if gain >= 0 else 'higher'}"
            for i, e, gain in self.instances
        ]
        others = [f"  instance {i}: {e:.1%}, it would change the utility by {gain:+.2g}" for i, e, gain in self.others]
        return "\n".join([self.sentence, *rows, *(["Not chosen for:", *others] if others else [])])


LISTS = ("instances", "others")


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else ENDINGS.get(number % 10, "th")
    return f"{number:,}{ending}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _plain(instance: Any) -> int | str:
    """Return an id as it is if JSON has such values, else as text."""
    return instance if isinstance(instance, (int, str)) else str(instance)


def _size(gain: float) -> str:
    return f"{gain:.2g}"
