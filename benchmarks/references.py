"""The slow, obvious references of the tests, for benchmarks that measure a distance to the optimum."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end: a folder of the tests must not hide a module of the same name.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from reference.optimum import COEFFICIENTS, LinearOptimum, draw_rows, enumerate_optimum, linear_program_optimum
from reference.utilities import Training

__all__ = [
    "COEFFICIENTS",
    "LinearOptimum",
    "Training",
    "draw_rows",
    "enumerate_optimum",
    "linear_program_optimum",
]
