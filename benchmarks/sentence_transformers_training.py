"""Trains a sentence-transformers folder.

sentence_transformers_finetuning.py runs this script with the peer's Python.

    PYTHON sentence_transformers_training.py FOLDER SEED

FOLDER contains `model`, `train.jsonl`, `held_out.jsonl` and `settings.json`. A
line of the `.jsonl` files is a list of texts; a score, if there is one, is
last. The script writes `peer.json`, and the trained model as `trained`.
"""

import json
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses

_NOT_DECAYED = ("bias", "LayerNorm.weight")


def main(folder: Path, seed: int):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    settings = json.loads((folder / "settings.json").read_text())
    rows = _read(folder / "train.jsonl")
    held_out = _read(folder / "held_out.jsonl")
    model = SentenceTransformer(str(folder / "model"), device="cpu")
    model.max_seq_length = settings["max_seq_length"]
    before = _spearman(model, held_out)
    seconds = _train(model, rows, settings, seed)
    result = {
        "before": before,
        "after": _spearman(model, held_out),
        "milliseconds": 1000 * float(np.median(seconds)),
    }
    (folder / "peer.json").write_text(json.dumps(result))
    model.save(str(folder / "trained"))


def _read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def _spearman(model, rows):
    model.eval()
    first, second = (
        model.encode([row[i] for row in rows], normalize_embeddings=True)
        for i in (0, 1)
    )
    return stats.spearmanr((first * second).sum(1), [r[-1] for r in rows])[0]


def _train(model, rows, settings, seed):
    """Trains like `finetune`, with AdamW; returns the seconds of each step."""
    loss_class = {
        "multiple_negatives": losses.MultipleNegativesRankingLoss,
        "cosent": losses.CoSENTLoss,
    }[settings["loss"]]
    loss_of = loss_class(model, scale=settings["scale"])
    size = settings["train_batch_size"]
    num_epochs = settings["num_train_epochs"]
    num_steps = num_epochs * -(-len(rows) // size)
    num_warmup_steps = int(num_steps * 0.1)
    groups = {True: [], False: []}
    for name, parameter in model.named_parameters():
        groups[name.endswith(_NOT_DECAYED)].append(parameter)
    optimizer = torch.optim.AdamW(
        [
            {"params": groups[False], "weight_decay": 0.01},
            {"params": groups[True], "weight_decay": 0.0},
        ],
        lr=settings["learning_rate"],
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda i: (
            (i + 1) / max(num_warmup_steps, 1)
            if i + 1 < num_warmup_steps
            else max(1 - (i + 1) / num_steps, 0.0)
        ),
    )
    shuffle = random.Random(seed).shuffle
    model.train()
    seconds = []
    for _ in range(num_epochs):
        shuffle(rows)
        for begin in range(0, len(rows), size):
            start = time.perf_counter()
            *columns, last = zip(*rows[begin : begin + size], strict=True)
            labels = None
            if settings["loss"] == "cosent":
                labels = torch.tensor(last)
            else:
                columns.append(last)
            loss = loss_of([model.preprocess(list(x)) for x in columns], labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            seconds.append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
