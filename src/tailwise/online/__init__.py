"""Rows that come one after another, each decided by what was decided before."""

from tailwise.online.online_selector import OnlineSelector

__all__ = ["OnlineSelector"]
