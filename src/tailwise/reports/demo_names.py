"""Invented names for the labels of the demo: broad subjects and narrow ones."""

from __future__ import annotations

from tailwise.datasets import LabelNames

THINGS = """music law medicine trade farming painting physics religion language war theatre mining chemistry housing
fishing dance cooking schools railways forests rivers coins maps insects birds stars glass textiles ships ceramics
gardens bridges newspapers photography mathematics sculpture climate poetry toys horses wine steel paper clocks salt
bees dialects festivals lighthouses fossils volcanoes mushrooms orchids whales meteors kites puppets bells
masks"""
KINDS = """medieval modern rural urban early island coastal alpine nordic baltic iberian roman ottoman colonial royal
folk sacred popular private public applied digital historic ancient tropical arctic desert river village industrial
maritime military academic domestic comparative experimental forensic marine solar lunar theoretical regional wartime
baroque gothic celtic persian andean saharan pacific atlantic balkan caucasian siberian mongolian tibetan polynesian
byzantine etruscan moorish hanseatic victorian edwardian prehistoric renaissance"""


def name_labels(n_labels: int) -> LabelNames:
    """Invent names: one word for frequent labels, two for rare ones."""
    words = [thing.capitalize() for thing in THINGS.split()]
    words += [f"{kind.capitalize()} {thing}" for kind in KINDS.split() for thing in THINGS.split()]
    words += [f"Subject {j}" for j in range(len(words), n_labels)]
    return LabelNames(words[:n_labels])
