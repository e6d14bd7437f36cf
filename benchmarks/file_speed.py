"""How fast files with a row per entry are read, each in a process of its own, and how much memory that takes."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Result

N_INSTANCES, PER_INSTANCE, N_LABELS, REPEATS = 500_000, 50, 100_000, 2
ASKED = {"ids.csv": 3, "ids.parquet": 10, "numbers.parquet": 10}  # million rows per second
MOST_MEMORY = 1.2  # GB, for Parquet


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        make(folder, N_INSTANCES, PER_INSTANCE, N_LABELS)
        for name, asked in ASKED.items():
            yield measure(Path(folder, name), asked)


def make(folder: str, n: int, k: int, m: int) -> None:
    """The same entries in every kind of file, as other programs write them."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    rows, labels = np.repeat(np.arange(n), k), rng.integers(0, m // k, n * k) * k + np.tile(np.arange(k), n)
    values = rng.random(n * k, dtype=np.float32).round(5)
    users = pa.DictionaryArray.from_arrays(pa.array(rows), pa.array([f"user-{i}" for i in range(n)]))
    items = pa.DictionaryArray.from_arrays(pa.array(labels), pa.array([f"item-{j}" for j in range(m)]))
    ids = pa.table({"user_id": users.cast(pa.string()), "item_id": items.cast(pa.string()), "score": values})
    csv.write_csv(ids, os.path.join(folder, "ids.csv"))
    parquet.write_table(ids, os.path.join(folder, "ids.parquet"))
    numbers = pa.table({"instance": rows, "label": labels, "probability": values})
    parquet.write_table(numbers, os.path.join(folder, "numbers.parquet"))


def measure(path: Path, asked: float) -> Result:
    """The better of some processes that read a file, and the largest memory of them."""
    command = [sys.executable, __file__, "--read", str(path)]
    found = [tuple(map(float, subprocess.check_output(command, text=True).split())) for _ in range(REPEATS)]
    speed = max(n_rows / seconds / 1e6 for seconds, _, n_rows, _ in found)
    of_processor = min(seconds for _, seconds, _, _ in found)
    memory = max(peak for *_, peak in found) / 1e3
    is_parquet = path.suffix == ".parquet"
    return Result(
        f"{path.name}, {found[0][2]:,.0f} rows: million rows a second; seconds of the processor; peak memory",
        f"at least {asked}" + (f"; at most {MOST_MEMORY} GB" if is_parquet else ""),
        f"{speed:.1f}; {of_processor:.1f} s; {memory:.2f} GB",
        speed >= asked and (memory <= MOST_MEMORY or not is_parquet),
    )


def read(path: str) -> None:
    """Read a file in this process, and print the seconds, those of the processor, the rows and the memory in MB."""
    from tailwise.datasets import load_contents

    begin, used = time.perf_counter(), time.process_time()
    contents = load_contents(path)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    with open("/proc/self/status") as status:  # of this process alone, unlike what getrusage tells
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(seconds, used, contents.matrix.nnz, peak / 1024)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--read", required=True, help="the file")
    read(parser.parse_args().read)
