"""The accelerator of the machine, with the speed that its maker states."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

# FLOP/s of dense bfloat16 products, as the data sheets state them.
_STATED_PEAKS = {
    "NVIDIA A100-SXM4-40GB": 312e12,
    "NVIDIA A100-SXM4-80GB": 312e12,
    "NVIDIA H100 PCIe": 756e12,
    "NVIDIA H100 80GB HBM3": 989e12,
    "NVIDIA H200": 989e12,
}


def describe_accelerator() -> dict[str, Any] | None:
    """Returns the first NVIDIA GPU, or None if there is no GPU.

    `stated_peak` is None for a GPU that is not in the table here.
    """
    if not shutil.which("nvidia-smi"):
        return None
    done = subprocess.run(
        [
            "nvidia-smi",
            "--query-gpu=name,memory.total,driver_version",
            "--format=csv,noheader,nounits",
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode or not done.stdout.strip():
        return None
    line = done.stdout.splitlines()[0]
    name, mebibytes, driver = (word.strip() for word in line.split(","))
    return {
        "name": name,
        "memory_gb": round(int(mebibytes) * 2**20 / 1e9),
        "driver": driver,
        "stated_peak": _STATED_PEAKS.get(name),
    }
