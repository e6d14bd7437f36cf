"""Tables of ids: time and memory of reading, matching and selecting, compared with the same entries as a CSR matrix."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from harness import Result

N_INSTANCES, PER_INSTANCE, N_LABELS = 200_000, 50, 30_000
MOST_TIME, MOST_MEMORY = 2.0, 3.0
LIBRARIES = ("pyarrow", "pandas", "polars")
# A process for each library, so that the largest memory is that of one table.
MEASURE = """
import gc, pathlib, re, sys, time
import numpy as np, pyarrow as pa, scipy.sparse as sp
import tailwise as tw

library, n, size, m = sys.argv[1], *map(int, sys.argv[2:5])
is_shuffled = sys.argv[5] == "shuffled"
draw = np.random.default_rng(0)
starts = draw.integers(0, m, n)
labels = (starts[:, None] + draw.permutation(m)[:size]) % m  # distinct within a row, popular ones more often
values = draw.beta(0.3, 2.0, n * size)
rows, columns = np.repeat(np.arange(n), size), labels.ravel()
order = draw.permutation(rows.size) if is_shuffled else np.arange(rows.size)
users = pa.array([f"user-{i:08d}" for i in range(n)])
items = pa.array([f"https://example.org/item/{j:06d}" for j in range(m)])
table = pa.table({
    "user_id": users.take(pa.array(rows[order])), "item_id": items.take(pa.array(columns[order])),
    "score": values[order],
})
table = {"pyarrow": lambda: table, "pandas": lambda: table.to_pandas()}.get(
    library, lambda: __import__("polars").from_arrow(table))()
bytes_of = {"pyarrow": lambda: table.nbytes, "pandas": lambda: table.memory_usage(deep=True).sum()}.get(
    library, lambda: table.estimated_size())()
tw.select(sp.csr_array(np.eye(5, dtype=np.float32)), "macro-f1", 1)
matrix = sp.csr_array((values, (rows, columns)), shape=(n, m))
matrix.sort_indices()
del rows, columns, labels, order, values, users, items

def status(name):
    text = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+) kB", text)[1])

def clock(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result

options = {"fill": "none"}
by_number, expected = clock(lambda: tw.select(tw.Candidates.of(matrix), "macro-f1", 5, **options))
del matrix
reading, _ = clock(lambda: tw.Candidates.of(table))
gc.collect()
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the largest memory so far is forgotten
before = status("VmRSS")
by_id, found = clock(lambda: tw.select(table, "macro-f1", 5, **options))
grown = status("VmHWM") - before
assert abs(found.expected - expected.expected) < 2e-3 * expected.expected
print(by_number, by_id, reading, (bytes_of + grown) / bytes_of)
"""


def run() -> Iterator[Result]:
    for library in LIBRARIES:
        for order in ("grouped", "shuffled"):
            yield measure(library, order)


def measure(library: str, order: str) -> Result:
    """Seconds by id over seconds by number; and the memory of the table and of selecting over that of the table."""
    sizes = map(str, (N_INSTANCES, PER_INSTANCE, N_LABELS))
    command = [sys.executable, "-c", MEASURE, library, *sizes, order]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    by_number, by_id, reading, memory = map(float, done.stdout.split())
    return Result(
        f"{library}, {N_INSTANCES * PER_INSTANCE:,} text ids, {order}: seconds over those of CSR; memory over table",
        f"at most {MOST_TIME}; at most {MOST_MEMORY}",
        f"{by_id / by_number:.2f} ({by_id:.1f} and {by_number:.1f} s, reading {reading:.1f} s); {memory:.2f}",
        by_id <= MOST_TIME * by_number and memory <= MOST_MEMORY,
    )
