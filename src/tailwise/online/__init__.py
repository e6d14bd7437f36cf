"""Selection for rows that arrive one after another, based on the totals of earlier rows."""

from tailwise.online.online_selector import OnlineSelector

__all__ = ["OnlineSelector"]
