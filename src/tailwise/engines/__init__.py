"""Where it runs."""

from tailwise.engines.threads import Threads

__all__ = ["Threads"]
