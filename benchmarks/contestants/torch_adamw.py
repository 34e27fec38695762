"""The optimizer that transformers' Trainer builds by default."""

from __future__ import annotations

import torch


def torch_adamw(
    model: torch.nn.Module, learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Returns the fused AdamW; biases and layer norms do not decay."""
    decayed, others = [], []
    for name, parameter in model.named_parameters():
        is_other = "LayerNorm" in name or name.endswith("bias")
        (others if is_other else decayed).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=learning_rate,
        fused=True,
    )
