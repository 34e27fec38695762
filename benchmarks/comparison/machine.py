"""The machine's abilities, which decide which library is faster."""

from __future__ import annotations

import os
import platform
from pathlib import Path

# Flags of Linux -> what the tables call them.
_FEATURES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "int8 products (AVX-512 VNNI)",
    "avx_vnni": "int8 products (AVX-VNNI)",
    "avx512_bf16": "bf16 products (AVX-512)",
    "amx_bf16": "bf16 products (AMX)",
    "amx_int8": "int8 products (AMX)",
    "asimddp": "int8 products (NEON)",
    "bf16": "bf16 products (NEON)",
    "sve": "SVE",
}


def describe_machine() -> dict[str, object]:
    """Returns the processor, its cores and instructions, and the memory.

    Nothing in the result shows whose machine it is.
    """
    lines = [line.partition(":") for line in _read("/proc/cpuinfo")]
    values = {name.strip(): value.strip() for name, _, value in lines}
    flags = values.get("flags", values.get("Features", "")).split()
    memory = [line.split() for line in _read("/proc/meminfo")]
    kilobytes = {words[0]: int(words[1]) for words in memory}
    return {
        "processor": values.get("model name", platform.machine()),
        "num_cores": num_threads(),
        "features": [name for flag, name in _FEATURES.items() if flag in flags],
        "memory_gb": round(kilobytes.get("MemTotal:", 0) / 1024**2),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def num_threads() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(file):
    """Returns the lines of a Linux system file; [] on other systems."""
    path = Path(file)
    return path.read_text().splitlines() if path.is_file() else []
