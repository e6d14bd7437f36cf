"""The tables and figures of the paper as experiments that can be run."""

from tailwise.experiments.strategies import STRATEGIES, Strategy, compare_strategies
from tailwise.experiments.trade_off import Curve, trade_off

__all__ = ["STRATEGIES", "Curve", "Strategy", "compare_strategies", "trade_off"]
