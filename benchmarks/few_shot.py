r"""Compares `fit_few_shot` with `fit` on 8 to 64 examples of each label.

    python benchmarks/few_shot.py --checkpoint=all-MiniLM-L6-v2 --glue_dir=glue

Prints a table of the accuracy on the dev set, as the mean and the range of
several seeds. A seed decides the examples and the weights of new layers.
"""

import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from absl import app, flags, logging

import keras_bert

_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "An encoder of sentences.", required=True
)
_GLUE_DIR = flags.DEFINE_string(
    "glue_dir", None, "The folder with SST-2 and MRPC.", required=True
)
_SHOTS = flags.DEFINE_list(
    "shots", ["8", "16", "64"], "Examples of each label."
)
_NUM_SEEDS = flags.DEFINE_integer("num_seeds", 3, "The number of seeds.")
_TASKS = {"glue/sst2": "SST-2", "glue/mrpc": "MRPC"}
# Small sets need many epochs (Mosbach et al. 2021, arXiv 2006.04884).
_CONFIG = keras_bert.FinetuningConfig(
    num_train_epochs=20, train_batch_size=16, learning_rate=5e-5
)


def _fit(rows, task, seed, method):
    keras.utils.set_random_seed(seed)
    settings = {} if method == "fit" else {"pooling": "mean"}
    model = keras_bert.TextClassifier.from_pretrained(
        _CHECKPOINT.value,
        labels=task.labels,
        text_fields=task.text_fields,
        **settings,
    )
    if method == "fit_few_shot":
        model.fit_few_shot(rows)
    else:
        model.fit(rows, config=_CONFIG)
    return model


def main(_):
    logging.set_verbosity(logging.ERROR)
    print("| task | examples per label | method | accuracy | range | seconds |")
    print("|---|---|---|---|---|---|")
    for name, folder in _TASKS.items():
        task = keras_bert.get_task(name)
        train, dev = (
            list(task.read(Path(_GLUE_DIR.value) / folder, split))
            for split in ("train", "validation")
        )
        for shots in map(int, _SHOTS.value):
            for method in ("fit", "fit, mean", "fit_few_shot"):
                scores, start = [], time.perf_counter()
                for seed in range(_NUM_SEEDS.value):
                    random = np.random.default_rng(seed)
                    rows = [
                        row
                        for label in task.labels
                        for row in random.choice(
                            [x for x in train if x["label"] == label],
                            shots,
                            replace=False,
                        )
                    ]
                    model = _fit(rows, task, seed, method)
                    scores.append(model.evaluate(dev)["accuracy"])
                seconds = (time.perf_counter() - start) / len(scores)
                print(
                    f"| {name} | {shots} | {method} | {np.mean(scores):.3f} | "
                    f"{min(scores):.3f} to {max(scores):.3f} | {seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    app.run(main)
