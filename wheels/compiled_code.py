"""Hatch's hook: puts the compiled code of the folder TAILWISE_COMPILED into the wheel, if that variable is set.

Such a wheel is for one system and one version of Python. Without the variable, the wheel is pure Python as usual.
"""

import os
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "TAILWISE_COMPILED"


class CompiledCode(BuildHookInterface):
    """Called by Hatch before it packs a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder, and the tag of this Python and system."""
        folder = os.environ.get(VARIABLE)
        if not folder or version == "editable":
            return
        if not any(Path(folder).rglob("*.nbc")):
            msg = f"{VARIABLE} must be a folder with compiled code. Got {folder}. Make it by wheels/build.py."
            raise FileNotFoundError(msg)
        build_data["force_include"][folder] = "tailwise/kernels/compiled"
        build_data["pure_python"] = False
        interpreter = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["tag"] = f"{interpreter}-{interpreter}{getattr(sys, 'abiflags', '')}-{describe_system()}"


def describe_system() -> str:
    """The platform tag. The code calls the C library only through Numba, so any version of it will do."""
    if sys.platform == "linux":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
