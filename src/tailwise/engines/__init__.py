"""Where it runs."""

from tailwise.engines.engine import Engine
from tailwise.engines.threads import Threads

__all__ = ["Engine", "Threads"]
