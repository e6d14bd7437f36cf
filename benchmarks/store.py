"""Large batches: a store made in streaming, selection from it and from memory, two threads and a local Dask cluster.

    python benchmarks/store.py [--entries 1e8] [--folder DIR] [--expectations semi,exact]
        [--parts convert,threads,memory,dask] [--workers 2]

The store is made in a folder of its own, which is removed at the end: 8 bytes a candidate. Checksums are compared, and
driver and workers make a small selection, which loads and compiles kernels, before anything is measured.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

import tailwise as tw
from tailwise.datasets import Contents, convert
from tailwise.datasets.formats.output_folders import claimed_folder
from tailwise.datasets.formats.store_files import fill_store, store_folder
from tailwise.datasets.store import Store
from tailwise.inputs.matrices import build_csr

PER_INSTANCE, PER_LABEL, BLOCK = 100, 330, 20_000


def make_blocks(n: int, m: int, seed: int = 0) -> Iterator[Contents]:
    """Candidates with a long tail: label numbers of a power law, probabilities that fall with the rank."""
    rng = np.random.default_rng(seed)
    for first in range(0, n, BLOCK):
        rows = min(BLOCK, n - first)
        # Strata of the logarithm of the label number: frequent labels are candidates of many, and none is drawn twice.
        edges = np.unique(np.concatenate([np.arange(60), np.geomspace(60, m, PER_INSTANCE - 59).astype(np.int64)]))
        labels = rng.integers(edges[:-1], edges[1:], (rows, edges.size - 1)).astype(np.int32)
        values = rng.beta(0.3, 6.0, labels.shape).astype(np.float32)
        pointers = np.arange(rows + 1) * labels.shape[1]
        yield Contents(build_csr(values.ravel(), labels.ravel(), pointers, (rows, m)))


def read_memory() -> float:
    """Anonymous memory at present, in GB."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1e6


def count_children() -> float:
    """Seconds of processor of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(name: str, n_entries: int, work) -> object:
    """Run and print what it took."""
    begin, used = time.perf_counter(), time.process_time()
    found = work()
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    rate = n_entries / seconds / 1e6
    print(f"{name}: {seconds:.1f} s ({used:.1f} s of processor), {rate:.1f} million candidates a second", flush=True)
    return found


class Watch:
    """The most anonymous memory that was seen in some work, twenty times a second."""

    def __init__(self) -> None:
        self.most, self.passes, self._ends = 0.0, 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def __call__(self, _: object) -> None:
        self.passes += 1

    def _look(self) -> None:
        while not self._ends.wait(0.05):
            self.most = max(self.most, read_memory())


def measure(name: str, source: object, n_entries: int, expectation: str, passes: int, **more: object) -> tw.Selection:
    """One selection: time, passes, anonymous memory."""
    call = {"expectation": expectation, "method": "ascent", "max_passes": passes}
    with Watch() as watch:
        found = timed(
            f"{name}, {expectation}",
            n_entries,
            lambda: tw.select(source, "macro-f1", 5, **call, on_pass=watch, **more),
        )
    print(f"  {watch.passes} passes, expected {found.expected:.9f}, at most {watch.most:.2f} GB of anonymous memory")
    for message in found.messages:
        print(f"  {message}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=float, default=1e8)
    parser.add_argument("--expectations", default="semi")
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--folder")
    parser.add_argument("--parts", default="convert,threads,memory,dask")
    parser.add_argument("--workers", default="2", help="processes of the clusters, one after another")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tailwise-store-", dir=options.folder))
    try:
        run(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, options: argparse.Namespace) -> None:
    if "convert" in options.parts:
        convert_some(folder)
    small = make_store(folder / "small.store", 3_000_000)
    for expectation in options.expectations.split(","):
        warm(small, expectation)
    if set(options.parts.split(",")) == {"convert"}:
        return
    store = make_store(folder / "a.store", int(options.entries))
    print(store)
    for expectation in options.expectations.split(","):
        select_everywhere(store, small, expectation, options)


def warm(small: Store, expectation: str, **more: object) -> None:
    """Load and compile what the measured call needs."""
    tw.select(small, "macro-f1", 5, expectation=expectation, method="ascent", max_passes=2, **more)


def make_store(path: Path, n_entries: int) -> Store:
    """A store of about so many candidates, block by block."""
    n, m = max(8, n_entries // PER_INSTANCE), max(1000, n_entries // PER_LABEL)
    with claimed_folder(path, store_folder()) as draft:
        timed("make", n_entries, lambda: fill_store(draft, make_blocks(n, m), "benchmark"))
    return timed("open, checksums", n_entries, lambda: tw.open_store(path))


def select_everywhere(store: Store, small: Store, expectation: str, options: argparse.Namespace) -> None:
    """The same selection from the store, on clusters and from memory."""
    rest, found = (store.n_entries, expectation, options.passes), []
    if "threads" in options.parts:
        found.append(measure("store, threads", store, *rest))
    for n_workers in map(int, options.workers.split(",")) if "dask" in options.parts else ():
        from tailwise.engines.dask_cluster import Dask, local_cluster

        before = count_children()
        with local_cluster(n_workers) as address:
            with closing(Dask(address)) as engine:
                warm(small, expectation, engine=engine)
            with closing(Dask(address)) as engine:
                found.append(measure(f"store, Dask, {n_workers} processes", store, *rest, engine=engine))
        print(f"  workers: {count_children() - before:.1f} s of processor in all, start included")
    if "memory" in options.parts:
        matrix = tw.load(store)
        matrix.data, matrix.indices = np.array(matrix.data), np.array(matrix.indices)
        found.append(measure("memory, threads", matrix, *rest))
    print("the same labels everywhere:", len({each.labels.tobytes() for each in found}) == 1, flush=True)


def convert_some(folder: Path) -> None:
    """Twenty million candidates, from .npz and from Parquet; after a few, which load and compile what is needed."""
    for n in (1000, 200_000):
        matrix = build_all(n, 30_000)
        for name in ("b.npz", "b.parquet"):
            tw.save(folder / name, matrix)
            target = folder / f"{name}.store"
            timed(f"convert {name}", matrix.nnz, lambda name=name, target=target: convert(folder / name, target))
            shutil.rmtree(target)


def build_all(n: int, m: int):
    """The blocks as one matrix."""
    import scipy.sparse as sp

    return sp.vstack([block.matrix for block in make_blocks(n, m)], format="csr")


if __name__ == "__main__":
    main()
