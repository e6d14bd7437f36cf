"""Look for faults as long as you like: `make fuzz MINUTES=30`, which runs `python -m fuzz.run --minutes 30`.

Prints the number of problems, and of every mismatch its seed, call and what was wrong; the first few of a kind are made
smaller, with a program that shows them. `--problem SEED` checks one problem again. Exits with 1 on any mismatch.
"""

import argparse
import os
import sys
from collections import defaultdict

from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.files import fuzz_files
from fuzz.processes import fuzz_in_processes
from fuzz.programs import HEADER, as_program

LISTED_OF_A_KIND = 50
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
    n_problems, findings = fuzz_in_processes(seconds, seed * SEEDS_APART, os.cpu_count() or 1)
    of_kind = defaultdict(list)
    for finding in findings:
        of_kind[finding.mismatch.kind, finding.mismatch.call.name].append(finding)
    for (kind, call), alike in sorted(of_kind.items()):
        print(f"\n{kind}, {call}: {len(alike)}")
        for finding in alike[:LISTED_OF_A_KIND]:
            print(f"  --problem {finding.seed}: {finding.mismatch.detail}")
        for finding in alike:
            if finding.program:
                print(f"{HEADER}\n{finding.program}")
    print(f"\nselection: {n_problems} problems, {len(findings)} mismatches", flush=True)
    return len(findings)


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
