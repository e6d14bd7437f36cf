"""Engines: where the parallel part of a search runs."""

from typing import TYPE_CHECKING, Any

from tailwise.engines.engine import Engine, Threads

if TYPE_CHECKING:
    from tailwise.engines.dask_cluster import Dask

__all__ = ["Dask", "Engine", "Threads"]


def __getattr__(name: str) -> Any:
    if name != "Dask":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from tailwise.engines.dask_cluster import Dask  # only few calls need it

    return Dask
