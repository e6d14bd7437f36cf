"""Build a wheel with compiled code inside, for this system and this version of Python and Numba, and try it out.

The code is compiled for a processor that is common enough (kernels/processors.py). With another version of Numba, or on
an older processor, tailwise compiles as usual.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE, WHEELS = ROOT / "build" / "cache", ROOT / "dist"


def main() -> None:
    """Compile everything, pack it, and try the wheel."""
    compile_all()
    wheel = pack()
    subprocess.run([sys.executable, Path(__file__).with_name("try_out.py"), wheel, "--compiled"], check=True)
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")


def compile_all() -> None:
    shutil.rmtree(CACHE, ignore_errors=True)
    command = [sys.executable, "-m", "tailwise.cli.program", "warm-up", "--all", "--portable"]
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(CACHE)}, check=True)


def pack() -> Path:
    before = set(WHEELS.glob("*.whl"))
    for path in before:
        if "none-any" not in path.name:
            path.unlink()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", WHEELS, ROOT]
    subprocess.run(command, env={**os.environ, "TAILWISE_COMPILED": str(CACHE / "tailwise")}, check=True)
    return next(path for path in WHEELS.glob("*.whl") if "none-any" not in path.name)


if __name__ == "__main__":
    main()
