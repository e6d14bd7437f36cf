"""Problems are shared out to processes. One that dies names the problem it died of, and another takes its place."""

import multiprocessing
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import wait

from fuzz.asking import Call, Mismatch
from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.programs import as_program
from fuzz.shrinking import shrink

SHRUNK_OF_A_KIND = 1


@dataclass(frozen=True)
class Finding:
    """A mismatch of a problem, and a program that shows it where it was made smaller."""

    seed: int
    mismatch: Mismatch
    program: str = ""


class Worker:
    """A process that checks every n-th problem until a point in time, and tells of each."""

    def __init__(self, first_seed, step, seconds):
        self.seed, self.step, self.deadline = first_seed, step, time.monotonic() + seconds
        context = multiprocessing.get_context("spawn")
        self.pipe, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(first_seed, step, seconds, sender), daemon=True)
        self.process.start()
        sender.close()

    def receive(self):
        """The findings of one problem; a crash is one. None when the time is over."""
        try:
            message = self.pipe.recv()
        except EOFError:
            self.process.join()
            text = f"the process ended with {self.process.exitcode}"
            return [Finding(self.seed, Mismatch("crash", Call("any"), text))]
        if message is not None:
            self.seed += self.step
        return message

    def successor(self):
        """A worker for the problems after the one that was fatal."""
        return Worker(self.seed + self.step, self.step, max(0.0, self.deadline - time.monotonic()))


def fuzz_in_processes(seconds, first_seed, n_processes):
    """The findings of each problem that was checked, as they come."""
    workers = [Worker(first_seed + i, n_processes, seconds) for i in range(n_processes)]
    while workers:
        for pipe in wait([worker.pipe for worker in workers]):
            worker = next(worker for worker in workers if worker.pipe is pipe)
            findings = worker.receive()
            if findings is None:
                worker.process.join()
                workers.remove(worker)
                continue
            yield findings
            if any(finding.mismatch.kind == "crash" for finding in findings):
                workers[workers.index(worker)] = worker.successor()


def _work(seed, step, seconds, pipe):
    deadline, shrunk = time.monotonic() + seconds, Counter()
    while time.monotonic() < deadline:
        problem = draw_problem(seed)
        pipe.send([_find_out(problem, mismatch, shrunk) for mismatch in check(problem)])
        seed += step
    pipe.send(None)


def _find_out(problem, mismatch, shrunk):
    """A finding, made smaller if it is one of the first of its kind."""
    kind = (mismatch.kind, mismatch.call.name)
    shrunk[kind] += 1
    if shrunk[kind] > SHRUNK_OF_A_KIND:
        return Finding(problem.seed, mismatch)
    return Finding(problem.seed, mismatch, as_program(*shrink(problem, mismatch)))
