"""The torch device, and the memory that a step takes on the device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def set_up(num_threads: int) -> None:
    """Sets torch's options; to be called before a model is built."""
    torch.set_num_threads(num_threads)
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    # Each case and batch size is compiled on its own.
    torch._dynamo.config.recompile_limit = 1000


def on_device(arrays: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Returns arrays as int64 tensors on the device."""
    return {n: torch.from_numpy(x).long().to(DEVICE) for n, x in arrays.items()}


def reset_peak_memory() -> None:
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak_memory() -> int | None:
    """Returns the peak of bytes since the last reset; None if unknown."""
    return torch.cuda.max_memory_allocated() if DEVICE == "cuda" else None


def wait() -> None:
    """Waits until the accelerator has done everything."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()
