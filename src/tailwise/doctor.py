"""Check this machine for tailwise: versions, cores, memory, the cache of compiled code, a small test."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

EXTRAS = {
    "parquet": ("pyarrow",),
    "zstd": ("zstandard",),
    "skos": ("rdflib",),
    "plot": ("matplotlib", "plotly"),
    "data": ("pooch",),
    "dask": ("distributed",),
    "text": ("torch", "transformers", "sentence_transformers"),
}
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn")
RIGHT_ANSWER = [[1], [2], [0]]  # of the example in the documentation of `select`


def examine() -> dict[str, Any]:
    """Return the facts by subject; ``problems`` lists what should be changed, each with a remedy."""
    facts = {
        "versions": _find_versions(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": _count_cores(),
        "memory": _find_memory(),
        "compiled_code": _examine_cache(),
        "extras": {name: all(map(importlib.util.find_spec, packages)) for name, packages in EXTRAS.items()},
        "self_test": _try_out(),
    }
    return {**facts, "problems": _list_problems(facts)}


def _find_versions() -> dict[str, str]:
    from tailwise import __version__

    found = {"tailwise": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _count_cores() -> dict[str, int]:
    from tailwise.inputs.checks import count_cores

    return {"usable": count_cores(), "of_the_machine": os.cpu_count() or 1}


def _find_memory() -> dict[str, float | None]:
    """Return the memory in gigabytes, and the limit of this process, if any."""
    try:
        unit = os.sysconf("SC_PAGE_SIZE")
        total, free = (os.sysconf(name) * unit / 1e9 for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    except (ValueError, OSError, AttributeError):  # Windows, macOS
        return {"total_gb": None, "free_gb": None, "limit_gb": None}
    return {"total_gb": round(total, 2), "free_gb": round(free, 2), "limit_gb": _find_limit()}


def _find_limit() -> float | None:
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else round(limit / 1e9, 2)


def _examine_cache() -> dict[str, Any]:
    from tailwise.kernels.caching import hash_version
    from tailwise.kernels.code_folders import find_writable, list_folders

    writable = find_writable()
    n_files = sum(len(list((folder / hash_version()).glob("*.nbc"))) for folder in list_folders())
    return {"folder": None if writable is None else str(writable), "functions_kept": n_files}


def _try_out() -> dict[str, Any]:
    """Choose labels for three instances, and compare them with the known result."""
    import numpy as np

    from tailwise.kernels.compiling import compile_seconds
    from tailwise.selection import select

    start, before = time.perf_counter(), compile_seconds()
    labels = select(np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]]), "macro-f1", k=1).labels
    return {
        "passed": labels.tolist() == RIGHT_ANSWER,
        "seconds": round(time.perf_counter() - start, 3),
        "seconds_compiling": round(compile_seconds() - before, 3),
    }


def _list_problems(facts: dict[str, Any]) -> list[str]:
    problems = []
    if not facts["self_test"]["passed"]:
        problems.append("The self-test chose wrong labels. Install tailwise and Numba again.")
    if facts["compiled_code"]["folder"] is None:
        problems.append("No folder for compiled code is writable. Set NUMBA_CACHE_DIR to one that is.")
    if facts["memory"]["limit_gb"] is not None and facts["memory"]["limit_gb"] < 2:
        problems.append("This process may use less than 2 GB of memory. Raise the limit (ulimit -v).")
    return problems
