"""Run the benchmarks and record the results.

    python benchmarks/run.py [name ...] [--json PATH] [--markdown PATH]

Prints one line a figure, `name | asked | measured`, and "(not met)" where the figure misses what was asked.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import OthersShare, Result, describe_machine

BENCHMARKS = (
    "selection_speed",
    "pass_cost",
    "default_call",
    "memory",
    "startup",
    "first_call",
    "threads",
    "online",
    "exact_accuracy",
    "exact_drawn",
    "exact_real",
    "exact_cost",
    "global_optimum",
    "global_real",
    "global_cost",
    "certificates",
    "certificate_memory",
    "certificate_soundness",
    "label_tree",
    "label_tree_scale",
    "models",
    "calibration",
    "parsing_speed",
    "file_speed",
    "id_tables",
    "explanations",
    "experiments",
)


@dataclass
class Report:
    """What one benchmark gave."""

    name: str
    caption: str = ""
    results: list[Result] = field(default_factory=list)
    others_share: float = 0.0
    failed: bool = False


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    machine = describe_machine()
    print(sentence(machine))
    reports = [run_benchmark(name) for name in options.names or BENCHMARKS]
    if options.json:
        document = {"machine": machine, "benchmarks": [asdict(report) for report in reports]}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(as_markdown(machine, reports), encoding="utf-8")
    failed = [report.name for report in reports if report.failed]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run_benchmark(name: str) -> Report:
    report, others = Report(name), OthersShare()
    try:
        benchmark = importlib.import_module(name)
        report.caption = benchmark.__doc__.splitlines()[0]
        for result in benchmark.run():
            print(result.line(), flush=True)
            report.results.append(result)
    except Exception:  # one that fails must not lose the figures of the others
        traceback.print_exc()
        report.failed = True
    report.others_share = others.read()
    print(f"{name}: other processes took {report.others_share:.0%} of the cores meanwhile", flush=True)
    return report


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"name must be one of {', '.join(BENCHMARKS)}. Got {name}.")
    return options


def as_markdown(machine: dict[str, Any], reports: list[Report]) -> str:
    lines = ["## Figures", "", sentence(machine), ""]
    for report in reports:
        lines += [f"### {report.name}", "", report.caption, ""]
        if report.results:
            lines += ["| figure | asked | measured |", "|---|---|---|"]
            lines += [*(f"| {result.line()} |" for result in report.results), ""]
        if report.failed:
            lines += ["This benchmark did not run to its end.", ""]
        lines += [f"Other processes took {report.others_share:.0%} of the cores meanwhile.", ""]
    return "\n".join(lines)


def sentence(machine: dict[str, Any]) -> str:
    return (
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, NumPy {machine['numpy']}, "
        f"SciPy {machine['scipy']}, Numba {machine['numba']}."
    )


if __name__ == "__main__":
    sys.exit(main())
