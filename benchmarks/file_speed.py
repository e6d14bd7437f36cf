"""How fast files with a row per entry are read, and how much memory that takes: `python benchmarks/file_speed.py`.

Prints the rows per second and the peak memory of a process of its own for each format, on instances and labels with
text ids, and on numbers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def make(folder, n, k, m):
    """The same entries in every kind of file, as other programs write them."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    rows, labels = np.repeat(np.arange(n), k), rng.integers(0, m // k, n * k) * k + np.tile(np.arange(k), n)
    values = rng.random(n * k, dtype=np.float32).round(5)
    users = pa.DictionaryArray.from_arrays(pa.array(rows), pa.array([f"user-{i}" for i in range(n)])).cast(pa.string())
    items = pa.DictionaryArray.from_arrays(pa.array(labels), pa.array([f"item-{j}" for j in range(m)])).cast(
        pa.string()
    )
    ids = pa.table({"user_id": users, "item_id": items, "score": values})
    csv.write_csv(ids, os.path.join(folder, "ids.csv"))
    parquet.write_table(ids, os.path.join(folder, "ids.parquet"))
    numbers = pa.table({"instance": rows, "label": labels, "probability": values})
    parquet.write_table(numbers, os.path.join(folder, "numbers.parquet"))


def measure(path):
    """Read a file in this process, and print the seconds and the peak memory in MB."""
    from tailwise.datasets import load_contents

    begin = time.perf_counter()
    contents = load_contents(path)
    seconds = time.perf_counter() - begin
    with open("/proc/self/status") as status:  # of this process alone, unlike what getrusage tells
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(seconds, contents.matrix.nnz, peak / 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--instances", type=int, default=500_000)
    parser.add_argument("--labels", type=int, default=50, help="per instance")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        return measure(options.read)
    with tempfile.TemporaryDirectory() as folder:
        make(folder, options.instances, options.labels, 100_000)
        print(f"{'file':16}{'million rows/s':>16}{'peak MB':>10}")
        for name in ("ids.csv", "ids.parquet", "numbers.parquet"):
            command = [sys.executable, __file__, "--read", os.path.join(folder, name)]
            seconds, n_rows, peak = map(float, subprocess.check_output(command, text=True).split())
            print(f"{name:16}{n_rows / seconds / 1e6:16.1f}{peak:10.0f}")
    return None


if __name__ == "__main__":
    main()
