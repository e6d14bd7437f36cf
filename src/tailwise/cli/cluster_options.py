"""The options of commands that can use a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add --scheduler and --local-cluster."""
    cluster = parser.add_argument_group("cluster (needs pip install 'tailwise[dask]'; the result is the same)")
    cluster.add_argument("--scheduler", metavar="ADDRESS", help="compute on the Dask cluster of this scheduler")
    cluster.add_argument("--local-cluster", type=int, metavar="N", help="compute on N processes of this machine")


@contextmanager
def engine_for(options: argparse.Namespace) -> Iterator[Any]:
    """The engine to compute with: threads, a cluster, or a local cluster that is started for this command."""
    from tailwise.errors import InputError

    address, size = options.scheduler, options.local_cluster
    if address is not None and size is not None:
        msg = "--scheduler and --local-cluster must not both be given. Got both. Omit one of them."
        raise InputError(msg)
    if size is not None and size < 1:
        msg = f"--local-cluster must be an integer of at least 1. Got {size}."
        raise InputError(msg)
    if address is None and size is None:
        yield "threads"
        return
    from tailwise.engines.dask_cluster import Dask, local_cluster

    with local_cluster(size) if address is None else nullcontext(address) as place:
        engine = Dask(place)
        try:
            yield engine
        finally:
            engine.close()
