"""Wall time and processor time of a block; imports nothing of ours, so that peers can use it, too."""

import time


class Stopwatch:
    """Writes `<name>_seconds` and `<name>_cpu_seconds` into a dictionary; the latter of all threads of this process.

    On cores that others use, too, processor time is the steadier of the two.
    """

    def __init__(self, results, name):
        self.results, self.name = results, name

    def __enter__(self):
        self.start = time.perf_counter(), time.process_time()

    def __exit__(self, *error):
        self.results[f"{self.name}_seconds"] = time.perf_counter() - self.start[0]
        self.results[f"{self.name}_cpu_seconds"] = time.process_time() - self.start[1]
