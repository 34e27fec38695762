r"""Compares token classification with and without a CRF, over several seeds.

    python benchmarks/crf.py --data_dir=conll2003 \
        --checkpoint=all-MiniLM-L6-v2 --output=crf.md

Both models train on the same first sentences of the training set, with the same
settings and seeds, including the learning rate of the output layer. With
--num_rows=0, they train on all sentences.

Prints a table, and writes it to --output if this flag is given. The table has
the F1 of entities on the development set for each seed, the mean F1, and the
seconds that a training takes.
"""

import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

import numpy as np
from absl import app, flags

import keras_bert

_TASK = flags.DEFINE_string("task", "ner/conll2003", "A tagging task.")
_DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "The folder of the data.", required=True
)
_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "Pre-trained weights.", required=True
)
_NUM_ROWS = flags.DEFINE_integer("num_rows", 800, "Sentences to train on.")
_NUM_EVAL_ROWS = flags.DEFINE_integer(
    "num_eval_rows", 800, "Sentences to evaluate."
)
_NUM_EPOCHS = flags.DEFINE_integer("num_train_epochs", 4, "Epochs.")
_BATCH_SIZE = flags.DEFINE_integer("train_batch_size", 16, "Rows in a batch.")
_LEARNING_RATE = flags.DEFINE_float(
    "learning_rate", 1e-4, "The peak learning rate."
)
_HEAD_LEARNING_RATE = flags.DEFINE_float(
    "head_learning_rate",
    2e-3,
    "The learning rate of the output layer and the CRF.",
)
_SEEDS = flags.DEFINE_list("seeds", ["1", "2", "3"], "Seeds.")
_OUTPUT = flags.DEFINE_string("output", None, "A file for the table.")


def main(_):
    task = keras_bert.get_task(_TASK.value)
    rows, held_out = (
        list(task.read(Path(_DATA_DIR.value), split))[: size or None]
        for split, size in (
            ("train", _NUM_ROWS.value),
            ("validation", _NUM_EVAL_ROWS.value),
        )
    )
    lines = [
        f"{_TASK.value}: {len(rows)} training rows, {len(held_out)} to "
        f"evaluate, {_NUM_EPOCHS.value} epochs, rates {_LEARNING_RATE.value} "
        f"and {_HEAD_LEARNING_RATE.value}",
        "",
        f"| | F1, seeds {', '.join(_SEEDS.value)} | mean | seconds |",
        "|---|---|---|---|",
    ]
    for crf in (False, True):
        scores, seconds = [], []
        for seed in map(int, _SEEDS.value):
            start = time.perf_counter()
            model = _train(task, rows, crf=crf, seed=seed)
            seconds.append(time.perf_counter() - start)
            scores.append(model.evaluate(held_out)["f1"])
        lines.append(
            f"| {'with' if crf else 'without'} a CRF | "
            f"{', '.join(f'{x:.4f}' for x in scores)} | "
            f"{np.mean(scores):.4f} | {np.mean(seconds):.0f} |"
        )
    table = "\n".join(lines)
    print(table)
    if _OUTPUT.value:
        Path(_OUTPUT.value).write_text(table + "\n")


def _train(task, rows, *, crf, seed):
    model = keras_bert.TokenClassifier.from_pretrained(
        _CHECKPOINT.value, labels=task.labels, crf=crf
    )
    model.fit(
        rows,
        config=keras_bert.FinetuningConfig(
            num_train_epochs=_NUM_EPOCHS.value,
            train_batch_size=_BATCH_SIZE.value,
            learning_rate=_LEARNING_RATE.value,
            head_learning_rate=_HEAD_LEARNING_RATE.value,
            random_seed=seed,
        ),
    )
    return model


if __name__ == "__main__":
    app.run(main)
