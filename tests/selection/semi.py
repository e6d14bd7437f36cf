"""`select`, `certify` and `trade_off` by the semi-empirical expectation, which these tests have references for.

The exact expectation, the default where it is available, has tests of its own in tests/expectations.
"""

import tailwise as tw


def select(*arguments, **options):
    return tw.select(*arguments, **{"expectation": "semi", **options})


def trade_off(*arguments, **options):
    return tw.trade_off(*arguments, **{"expectation": "semi", **options})
