"""The processors that machine code is made for: this one, and a common one that wheels are made for.

Numba names a processor by a triple (machine and system), a name and a list of features.
"""

import platform
import re

__all__ = ["BASELINES", "describe_processor", "list_processors"]

# Name and features, as for NUMBA_CPU_NAME and NUMBA_CPU_FEATURES, that nearly all machines of a kind have. Selecting
# with x86-64-v3 was no slower than with code for AVX-512; x86-64-v2 took a seventh longer for exact recall.
_X86_64_V3 = (
    "x86-64-v3",
    "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,"
    "+sse4.2,+ssse3,+xsave",
)
BASELINES = {
    ("Linux", "x86_64"): _X86_64_V3,
    ("Windows", "AMD64"): _X86_64_V3,
    ("Darwin", "x86_64"): _X86_64_V3,
    ("Linux", "aarch64"): ("generic", ""),
    ("Darwin", "arm64"): ("apple-m1", ""),
}


def list_processors(codegen):
    """Descriptions of the processors whose machine code runs here, the best one first."""
    own = describe_processor(codegen)
    name, features = BASELINES.get((platform.system(), platform.machine()), (None, ""))
    common = (own[0], name, features)
    can_run = name is not None and set(filter(None, features.split(","))) <= set(own[2].split(","))
    return [own, common] if can_run and common != own else [own]


def describe_processor(codegen):
    """System and processor; the version of the system (which macOS appends) does not matter."""
    triple, name, features = codegen.magic_tuple()
    return re.sub(r"[\d.]+$", "", triple), name, features
