"""Trains with transformers; transformers_finetuning.py runs this script.

    python transformers_training.py FOLDER

Reads model, train.npz and held_out.npz from FOLDER. Writes run.npz.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers

_NAMES = ("input_ids", "attention_mask", "token_type_ids", "labels")


def main(folder):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(1)
    config = json.loads((folder / "model" / "config.json").read_text())
    build = getattr(transformers, config["architectures"][0])
    model = build.from_pretrained(folder / "model").train()
    decayed, not_decayed = [], []
    for name, parameter in model.named_parameters():
        is_decayed = not ("LayerNorm" in name or name.endswith("bias"))
        (decayed if is_decayed else not_decayed).append(parameter)
    optimizer = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": 0.01},
            {"params": not_decayed, "weight_decay": 0.0},
        ],
        eps=1e-7,  # Keras' default
    )
    losses, seconds = [], []
    for rate, batch in _read(folder / "train.npz"):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    model.eval()
    with torch.no_grad():
        logits = {
            f"logits/{i}": model(**batch).logits.numpy()
            for i, (_, batch) in enumerate(_read(folder / "held_out.npz"))
        }
    np.savez(folder / "run.npz", losses=losses, seconds=seconds, **logits)


def _read(file):
    with np.load(file) as arrays:
        for i in range(arrays["num_batches"]):
            batch = {
                name: torch.tensor(arrays[f"{i}/{name}"], dtype=torch.long)
                for name in _NAMES
            }
            yield float(arrays[f"{i}/rate"]), batch


if __name__ == "__main__":
    main(Path(sys.argv[1]))
