"""Start-up time: importing the package, and a second small run of the command."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import scipy.sparse as sp
from harness import Result, time_calls
from matrices import zipf_matrix

REPEATS = 7
ASKED_IMPORT, ASKED_COMMAND = 0.5, 0.9


def run() -> Iterator[Result]:
    yield measure("import in a fresh interpreter", [sys.executable, "-c", "import tailwise"], ASKED_IMPORT)
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "small.npz"), Path(folder, "out.npz")
        sp.save_npz(given, zipf_matrix(500, 300, 20))
        tailwise = str(Path(sys.executable).with_name("tailwise"))
        command = [tailwise, "select", str(given), "-u", "macro-f1", "-k", "3", "-o", str(out), "--overwrite"]
        config = Path(folder, "run.toml")
        config.write_text('[select]\nutility = "macro-f1"\nk = 3\n')
        configured = [tailwise, "select", str(given), "--config", str(config), "-o", str(out), "--overwrite"]
        for title, each in (("", command), (" --json", [*command, "--json"]), (" --config", configured)):
            yield measure(f"second run of `tailwise select{title}`", each, ASKED_COMMAND, output=out)


def measure(name: str, command: list[str], asked: float, output: Path | None = None) -> Result:
    """Wall seconds of the whole process, after a first run that fills the caches."""

    def call() -> None:
        if output is not None:
            output.unlink(missing_ok=True)  # the command refuses to replace a file
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    call()
    timing, _ = time_calls(call, REPEATS)
    return Result(
        name,
        f"below {asked} s",
        f"{timing.median:.2f} s, best {timing.best:.2f} s",
        timing.median < asked,
        {"seconds": timing.seconds},
    )
