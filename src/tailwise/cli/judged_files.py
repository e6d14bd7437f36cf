"""Files of probabilities and of a selection that a command judges: their options, and how they are read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from tailwise.cli.options import add_columns_option, add_names_options

if TYPE_CHECKING:
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.priors import LabelPriors
    from tailwise.kernels.rows import Excluded


def add_judged_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to read the files, and what could not be chosen."""
    parser.add_argument("--priors", metavar="FILE", help="training labels, or priors.npz of a run")
    parser.add_argument("--exclude", metavar="FILE", help="pairs that could not be chosen, as for tailwise select")
    add_names_options(parser)
    add_columns_option(parser)


class JudgedFiles(NamedTuple):
    """Probabilities, a selection, training frequencies, and what could not be chosen."""

    candidates: Candidates
    chosen: Chosen
    priors: LabelPriors | None
    excluded: Excluded | None


def read_judged(options: argparse.Namespace, path: str) -> JudgedFiles:
    """Read the probabilities at `path` and the files that belong to them, matched by their names."""
    from tailwise.inputs.excluded_pairs import read_excluded
    from tailwise.inputs.paths import Source
    from tailwise.inputs.vocabularies import read_vocabulary
    from tailwise.selection.resolve import find_candidates, read_priors, space_of

    names = read_vocabulary(options.label_names, options.language)
    source = Source.of(path, label_names=names, columns=options.columns)
    candidates = find_candidates(source, None, None)
    priors = read_priors(options.priors, source, candidates)
    chosen = space_of(candidates).warn_of_missing(source.read_selection(options.selection), "selection")
    excluded = None if options.exclude is None else read_excluded(options.exclude, candidates, options.columns)
    return JudgedFiles(candidates, chosen, priors, excluded)
