"""Local clusters for tests."""

import warnings

import pytest

distributed = pytest.importorskip("distributed")


def open_cluster(n_workers, *, processes=False, threads=1):
    """Workers in this process, or processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=threads,
            processes=processes,
            dashboard_address=None,
            silence_logs=50,
        )
