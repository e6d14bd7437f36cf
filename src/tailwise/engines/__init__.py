"""Engines: where the parallel part of a search runs."""

from tailwise.engines.engine import Engine
from tailwise.engines.threads import Threads

__all__ = ["Engine", "Threads"]
