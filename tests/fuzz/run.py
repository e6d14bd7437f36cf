"""Look for faults as long as you like: `make fuzz MINUTES=30`, which runs `python -m fuzz.run --minutes 30`.

Prints the number of problems, and every mismatch as it is found, with its seed, call and what was wrong; the first of a
kind is made smaller, with a program that shows it. `--problem SEED` checks one problem again. Exits with 1 on any
mismatch.
"""

import argparse
import os
import sys

from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.files import fuzz_files
from fuzz.processes import fuzz_in_processes
from fuzz.programs import HEADER, as_program

PROBLEMS_A_LINE = 10_000
SEEDS_APART = 10**9  # so that runs of different seeds share no problem


def main():
    options = read_options()
    if options.problem is not None:
        return show_problem(options.problem)
    parts = [PARTS[options.only]] if options.only else list(PARTS.values())
    seconds = 60 * options.minutes / len(parts)
    n_mismatches = sum(part(seconds, options.seed) for part in parts)
    return 1 if n_mismatches else 0


def read_options():
    parser = argparse.ArgumentParser(prog="python -m fuzz.run", description="Look for faults in random problems.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long, all parts together")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other problems")
    parser.add_argument("--only", choices=list(PARTS), help="one part of the fuzz")
    parser.add_argument("--problem", type=int, help="check only the problem of this number, as mismatches name it")
    return parser.parse_args()


def fuzz_damaged_files(seconds, seed):
    try:
        n_files = fuzz_files(seconds, seed)
    except AssertionError as escape:
        print(f"files: {escape}")
        return 1
    print(f"files: {n_files} damaged files, 0 mismatches")
    return 0


def fuzz_selection(seconds, seed):
    n_problems = n_findings = 0
    for findings in fuzz_in_processes(seconds, seed * SEEDS_APART, os.cpu_count() or 1):
        n_problems, n_findings = n_problems + 1, n_findings + len(findings)
        for finding in findings:
            mismatch = finding.mismatch
            print(f"{mismatch.kind}, {mismatch.call.name}\n  --problem {finding.seed}: {mismatch.detail}")
            print(f"{HEADER}\n{finding.program}\n" if finding.program else "", flush=True)
        if n_problems % PROBLEMS_A_LINE == 0:
            print(f"selection: {n_problems} problems so far, {n_findings} mismatches", flush=True)
    print(f"selection: {n_problems} problems, {n_findings} mismatches", flush=True)
    return n_findings


def show_problem(seed):
    problem = draw_problem(seed)
    print(problem)
    mismatches = check(problem)
    for mismatch in mismatches:
        print(f"{HEADER}\n{as_program(problem, mismatch)}\n")
    print(f"{len(mismatches)} mismatches")
    return 1 if mismatches else 0


PARTS = {"selection": fuzz_selection, "files": fuzz_damaged_files}


if __name__ == "__main__":
    sys.exit(main())
