r"""Compares fine-tuning with transformers on torch: scores, losses and speed.

    python benchmarks/transformers_finetuning.py \
        --task=glue/mrpc --data_dir=MRPC --checkpoint=all-MiniLM-L6-v2

The peer runs in the environment of `make bench`, which is built if it is
missing. With --peer_python, the peer runs in another environment, which needs
torch and transformers.

Both packages start from the same weights, including the head, and train on the
same batches at the same learning rates with AdamW in float32. The same code
scores both at the end. With dropout, the two packages differ as two seeds do;
with --nodropout, the losses of all steps are comparable. The script supports
tasks whose output is `logits`, but not spans.

Prints a line per seed: the scores, the mean time per step after the first 20
steps, and the largest difference between the losses in the first 10 steps. In
later steps, Adam amplifies the rounding differences of the gradients.
"""

import dataclasses
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
from safetensors.numpy import save_file

import keras_bert
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_tokenizer import find_vocab
from keras_bert.finetuning.batches import evaluation_batches, training_batches
from keras_bert.kinds.spec import build_kind, make_spec
from keras_bert.training.optimizers.adam import WarmupDecay
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import WORK, Steps

_PEER_PYTHON = flags.DEFINE_string(
    "peer_python", None, "Python with torch and transformers."
)
_TASK = flags.DEFINE_string(
    "task", None, "A task, as in run_finetuning.py.", required=True
)
_DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "The folder of the data.", required=True
)
_INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "Pre-trained weights.", required=True
)
_NUM_SEEDS = flags.DEFINE_integer("num_seeds", 1, "The number of seeds.")
_DROPOUT = flags.DEFINE_bool("dropout", True, "Whether to use dropout.")
_MAX_STEPS = flags.DEFINE_integer(
    "max_steps", 0, "The number of steps; 0 for all steps."
)
# TensorFlow and torch build graphs and fill caches in these steps.
_NUM_UNTIMED_STEPS = 20


def main(_):
    bert_config = Checkpoint.of(_INIT_CHECKPOINT.value).config
    vocab_file = find_vocab(_INIT_CHECKPOINT.value)
    if not _DROPOUT.value:
        bert_config = dataclasses.replace(
            bert_config,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    task = keras_bert.get_task(_TASK.value)
    tokenizer = keras_bert.BertTokenizer(vocab_file)
    kind = build_kind(make_spec(task, {}), tokenizer, bert_config)
    data_dir = Path(_DATA_DIR.value)
    train_set = kind.encode(task.read(data_dir, "train"), labeled=True)
    rows = task.read(data_dir, task.validation_splits[0])
    held_out = kind.encode(rows, labeled=True)
    held_out_batches, order = evaluation_batches(held_out, batch_size=64)

    def score(logits):
        outputs = [None] * len(order)
        arrays = (array for batch in logits for array in batch)
        for place, array in zip(order, arrays, strict=True):
            outputs[place] = array
        answers = kind.decode(rows, held_out, {"logits": outputs})
        return kind.score(rows, answers, task.metrics)[task.metrics[0]]

    print(
        f"{task.metrics[0]} and ms/step of keras_bert and transformers; "
        "largest difference of losses"
    )
    for seed in range(1, _NUM_SEEDS.value + 1):
        keras.utils.set_random_seed(seed)
        model = kind.build_model(bert_config)
        keras_bert.load_checkpoint(model, _INIT_CHECKPOINT.value)
        config = keras_bert.FinetuningConfig(optimizer="adamw")
        batches = training_batches(
            train_set,
            batch_size=config.train_batch_size,
            num_epochs=int(config.num_train_epochs),
            seed=seed,
        )
        num_steps = (len(batches), len(batches) // 10)
        rates = WarmupDecay(config.learning_rate, *num_steps)
        batches = batches.take(_MAX_STEPS.value or -1)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            _write_model(model, bert_config, vocab_file, folder)
            _write_batches(folder / "train.npz", batches, rates)
            _write_batches(folder / "held_out.npz", held_out_batches, rates)
            peer = _train_with_transformers(folder)
        own = _train_with_keras_bert(
            Steps(
                model,
                kind.objectives,
                build_optimizer(config, *num_steps),
                count_work=_count_nothing,
            ),
            batches,
            held_out_batches,
        )
        print(
            f"{score(own.logits):.4f} {score(peer.logits):.4f}  "
            f"{own.milliseconds:.0f} {peer.milliseconds:.0f}  "
            f"{np.abs(own.losses - peer.losses)[:10].max():.1e}",
            flush=True,
        )


@dataclasses.dataclass(frozen=True)
class _Run:
    """The losses and seconds of the steps, and the logits of held-out rows."""

    losses: np.ndarray
    seconds: np.ndarray
    logits: list[np.ndarray]

    @property
    def milliseconds(self):
        return 1000 * self.seconds[_NUM_UNTIMED_STEPS:].mean()


def _train_with_keras_bert(steps, batches, held_out_batches):
    step = tf.function(steps.train_step, reduce_retracing=True)
    losses, seconds = [], []
    for batch in batches:
        begin = time.perf_counter()
        steps.reset_metrics()
        losses.append(step(batch)["loss"].numpy())
        seconds.append(time.perf_counter() - begin)
    predict = tf.function(
        lambda features: steps.network(features, training=False)["logits"],
        reduce_retracing=True,
    )
    logits = [predict(features).numpy() for features, *_ in held_out_batches]
    return _Run(np.array(losses), np.array(seconds), logits)


def _count_nothing(features):
    return dict.fromkeys(WORK, 0.0)


def _train_with_transformers(folder):
    script = Path(__file__).with_name("transformers_training.py")
    python = _PEER_PYTHON.value or Environments().python("torch")
    subprocess.run(
        [python, script, folder],
        check=True,
        env=os.environ | {"TQDM_DISABLE": "1"},
    )
    with np.load(folder / "run.npz") as arrays:
        logits = [arrays[f"logits/{i}"] for i in range(len(arrays) - 2)]
        return _Run(arrays["losses"], arrays["seconds"], logits)


def _write_model(model, bert_config, vocab_file, folder):
    """Writes the model as a Hugging Face folder named `model`."""
    source = folder / "source"
    source.mkdir()
    save_file(
        {weight.path: weight.numpy() for weight in model.weights},
        source / "model.safetensors",
    )
    (source / "bert_config.json").write_text(bert_config.to_json())
    shutil.copy(vocab_file, source / "vocab.txt")
    keras_bert.convert_checkpoint(source, folder / "model", "huggingface")


def _write_batches(file, batches, rates):
    """Writes arrays as NUMBER/NAME, with the names that transformers uses."""
    arrays = {"num_batches": 0}
    for i, (features, labels, weights) in enumerate(batches):
        arrays["num_batches"] = i + 1
        arrays[f"{i}/input_ids"] = features["input_ids"]
        arrays[f"{i}/attention_mask"] = features["input_mask"]
        arrays[f"{i}/token_type_ids"] = features["segment_ids"]
        is_learned = weights["logits"] > 0
        arrays[f"{i}/labels"] = tf.where(is_learned, labels["logits"], -100)
        arrays[f"{i}/rate"] = rates(i)
    np.savez(file, **arrays)


if __name__ == "__main__":
    app.run(main)
