r"""Compares training an embedder in keras_bert and sentence-transformers.

    python benchmarks/sentence_transformers_finetuning.py \
        --task=embedding/nli --data_dir=data --checkpoint=all-MiniLM-L6-v2

The peer runs in the environment of `make bench`, which is built if it is
missing. With --peer_python, the peer runs in another environment, which needs
sentence-transformers.

Both packages train on the same rows with the same loss, AdamW, learning rates,
batch size and number of epochs, in float32. The order of the rows and dropout
differ, as they do between two seeds. Each package scores the validation set
with its own code.

Prints a line per seed. For each package, the line has the Spearman correlation
before and after training, and the median time per step. --output_dir keeps the
models of the last seed as `ours` and `trained`. A second run can continue from
these models, for example on scored pairs: --checkpoint=OUT/ours
--peer_checkpoint=OUT/trained --task=embedding/stsb.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags
from comparison.environments import Environments

import keras_bert
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.finetuning.batches import training_batches
from keras_bert.kinds.spec import build_kind, make_spec
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import WORK, Steps

_PEER_PYTHON = flags.DEFINE_string(
    "peer_python", None, "Python with sentence-transformers."
)
_TASK = flags.DEFINE_string(
    "task", None, "A task, as in run_finetuning.py.", required=True
)
_DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "The folder of the data.", required=True
)
_INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "Weights.", required=True
)
_PEER_CHECKPOINT = flags.DEFINE_string(
    "peer_checkpoint",
    None,
    "Weights for sentence-transformers, if not those of --checkpoint.",
)
_LEARNING_RATE = flags.DEFINE_float(
    "learning_rate", 2e-5, "The peak learning rate."
)
_BATCH_SIZE = flags.DEFINE_integer("train_batch_size", 64, "Rows in a batch.")
_NUM_EPOCHS = flags.DEFINE_integer("num_train_epochs", 1, "Epochs.")
_SEEDS = flags.DEFINE_list("seeds", ["1"], "Seeds, with commas between.")
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "A folder for the models."
)


def main(_):
    task = keras_bert.get_task(_TASK.value)
    bert_config, tokenizer = load_config_and_tokenizer(_INIT_CHECKPOINT.value)
    kind = build_kind(make_spec(task, {}), tokenizer, bert_config)
    data_dir = Path(_DATA_DIR.value)
    rows = list(task.read(data_dir, "train"))
    held_out = list(task.read(data_dir, "validation"))
    train_set = kind.encode(rows, labeled=True)
    peer_python = _PEER_PYTHON.value or Environments().python("torch")
    print("Spearman before and after, ms/step: keras_bert; the peer")
    for seed in map(int, _SEEDS.value):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            _write(folder, kind.spec, rows, held_out)
            own = _train(kind, bert_config, train_set, held_out, seed, folder)
            script = Path(__file__).with_name(
                "sentence_transformers_training.py"
            )
            subprocess.run(
                [peer_python, script, folder, str(seed)],
                check=True,
                env=os.environ | {"TQDM_DISABLE": "1"},
            )
            peer = json.loads((folder / "peer.json").read_text())
            print(seed, _show(own), _show(peer), sep="; ", flush=True)
            for name in ("ours", "trained") if _OUTPUT_DIR.value else ():
                shutil.copytree(
                    folder / name,
                    Path(_OUTPUT_DIR.value) / name,
                    dirs_exist_ok=True,
                )


def _write(folder, spec, rows, held_out):
    """Writes the model, the rows and the settings that the peer reads."""
    keras_bert.convert_checkpoint(
        _PEER_CHECKPOINT.value or _INIT_CHECKPOINT.value,
        folder / "model",
        "sentence_transformers",
    )
    for name, part in (("train", rows), ("held_out", held_out)):
        fields = [field for field in spec.text_fields if field in part[0]]
        with (folder / f"{name}.jsonl").open("w") as file:
            for row in part:
                score = [float(row["label"])] if "label" in row else []
                line = [row[field] for field in fields] + score
                file.write(json.dumps(line) + "\n")
    settings = {
        "loss": spec.settings.loss,
        "scale": spec.settings.scale,
        "max_seq_length": spec.settings.max_seq_length,
        "learning_rate": _LEARNING_RATE.value,
        "train_batch_size": _BATCH_SIZE.value,
        "num_train_epochs": _NUM_EPOCHS.value,
    }
    (folder / "settings.json").write_text(json.dumps(settings))


def _train(kind, bert_config, train_set, held_out, seed, folder):
    keras.utils.set_random_seed(seed)
    model = kind.build_model(bert_config)
    keras_bert.load_checkpoint(model, _INIT_CHECKPOINT.value)
    finetuned = keras_bert.finetuning.FinetunedModel(model, kind, bert_config)
    before = finetuned.evaluate(held_out)["spearman"]
    batches = training_batches(
        train_set,
        batch_size=_BATCH_SIZE.value,
        num_epochs=_NUM_EPOCHS.value,
        seed=seed,
        by_length=kind.batches_by_length,
    )
    config = keras_bert.FinetuningConfig(
        optimizer="adamw", learning_rate=_LEARNING_RATE.value
    )
    trained = Steps(
        model,
        kind.objectives,
        build_optimizer(config, len(batches), len(batches) // 10),
        count_work=lambda features: dict.fromkeys(WORK, 0.0),
    )
    step = tf.function(trained.train_step, reduce_retracing=True)
    seconds = []
    for batch in batches:
        begin = time.perf_counter()
        step(batch)
        seconds.append(time.perf_counter() - begin)
    finetuned.save(folder / "ours")
    return {
        "before": before,
        "after": finetuned.evaluate(held_out)["spearman"],
        "milliseconds": 1000 * np.median(seconds),
    }


def _show(run):
    return (
        f"{run['before']:.4f} {run['after']:.4f} {run['milliseconds']:.0f} ms"
    )


if __name__ == "__main__":
    app.run(main)
