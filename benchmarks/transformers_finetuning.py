"""Does transformers with torch learn what we learn, and how fast?

    python benchmarks/transformers_finetuning.py --peer_python=PYTHON \
        --task=glue/mrpc --data_dir=MRPC --init_checkpoint=all-MiniLM-L6-v2

PYTHON is an interpreter with torch and transformers, in an environment of
their own. Both begin with the same weights, of the head too, train on the same
batches at the same rates with AdamW in float32, and are scored at the end by
the same code. With dropout they differ as two seeds do; with --nodropout the
losses of all steps can be compared. Tasks of `logits` only, not of spans.

Prints a line for each seed: the scores; the mean times of a step, without the
first 20; and the largest difference of the losses of the first 10 steps. Later
Adam has made more of the last bits in which the gradients differ.
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
from safetensors.numpy import save_file

import keras_bert
from keras_bert.checkpoints.find import config_and_vocab
from keras_bert.finetuning.batches import evaluation_batches, training_batches
from keras_bert.kinds.base import build_head
from keras_bert.kinds.spec import TaskSpec
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.optimizers.schedule import WarmupDecay
from keras_bert.training.training_model import WORK, TrainingModel

_PEER_PYTHON = flags.DEFINE_string(
    "peer_python", None, "Python with torch and transformers.", required=True
)
_TASK = flags.DEFINE_string("task", None, "As of fine-tuning.", required=True)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Its files.", required=True)
_INIT_CHECKPOINT = flags.DEFINE_string(
    "init_checkpoint", None, "Pre-trained weights.", required=True
)
_NUM_SEEDS = flags.DEFINE_integer("num_seeds", 1, "How often.")
_DROPOUT = flags.DEFINE_bool("dropout", True, "That of the model.")
_MAX_STEPS = flags.DEFINE_integer("max_steps", 0, "Stop there; 0: never.")
# While graphs are made and caches filled.
_NUM_UNTIMED_STEPS = 20


def main(_):
    bert_config, vocab_file = config_and_vocab(
        _INIT_CHECKPOINT.value, None, None
    )
    if not _DROPOUT.value:
        bert_config = dataclasses.replace(
            bert_config,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    task = keras_bert.get_task(_TASK.value)
    spec = TaskSpec(
        task.head,
        task.labels,
        task.text_fields,
        task.max_seq_length,
        do_lower_case=True,
    )
    head = build_head(spec, vocab_file, bert_config)
    data_dir = Path(_DATA_DIR.value)
    train_set = head.encode(task.read(data_dir, "train"), labeled=True)
    rows = task.read(data_dir, task.validation_splits[0])
    held_out = head.encode(rows, labeled=True)
    held_out_batches, order = evaluation_batches(held_out, batch_size=64)

    def score(logits):
        outputs = [None] * len(order)
        arrays = (array for batch in logits for array in batch)
        for place, array in zip(order, arrays, strict=True):
            outputs[place] = array
        answers = head.decode(rows, held_out, {"logits": outputs})
        return head.score(rows, answers, task.metrics)[task.metrics[0]]

    print(f"{task.metrics[0]} and ms/step, ours and theirs; losses within")
    for seed in range(1, _NUM_SEEDS.value + 1):
        keras.utils.set_random_seed(seed)
        model = head.build_model(bert_config)
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
            theirs = _train_theirs(folder)
        ours = _train_ours(
            TrainingModel(model, head.objectives, count_work=_count_nothing),
            build_optimizer(config, *num_steps),
            batches,
            held_out_batches,
        )
        print(
            f"{score(ours.logits):.4f} {score(theirs.logits):.4f}  "
            f"{ours.milliseconds:.0f} {theirs.milliseconds:.0f}  "
            f"{np.abs(ours.losses - theirs.losses)[:10].max():.1e}",
            flush=True,
        )


@dataclasses.dataclass(frozen=True)
class _Run:
    """Loss and seconds of each step; then logits of each held-out batch."""

    losses: np.ndarray
    seconds: np.ndarray
    logits: list[np.ndarray]

    @property
    def milliseconds(self):
        return 1000 * self.seconds[_NUM_UNTIMED_STEPS:].mean()


def _train_ours(model, optimizer, batches, held_out_batches):
    model.compile(optimizer)
    optimizer.build(model.trainable_variables)
    step = tf.function(model.train_step, reduce_retracing=True)
    losses, seconds = [], []
    for batch in batches:
        begin = time.perf_counter()
        model.reset_metrics()
        losses.append(step(batch)["loss"].numpy())
        seconds.append(time.perf_counter() - begin)
    predict = tf.function(
        lambda features: model(features, training=False)["logits"],
        reduce_retracing=True,
    )
    logits = [predict(features).numpy() for features, *_ in held_out_batches]
    return _Run(np.array(losses), np.array(seconds), logits)


def _count_nothing(features):
    return dict.fromkeys(WORK, 0.0)


def _train_theirs(folder):
    script = Path(__file__).with_name("transformers_training.py")
    subprocess.run(
        [_PEER_PYTHON.value, script, folder],
        check=True,
        env=os.environ | {"TQDM_DISABLE": "1"},
    )
    with np.load(folder / "run.npz") as arrays:
        logits = [arrays[f"logits/{i}"] for i in range(len(arrays) - 2)]
        return _Run(arrays["losses"], arrays["seconds"], logits)


def _write_model(model, bert_config, vocab_file, folder):
    """As a folder of Hugging Face, `model`."""
    ours = folder / "ours"
    ours.mkdir()
    save_file(
        {weight.path: weight.numpy() for weight in model.weights},
        ours / "model.safetensors",
    )
    (ours / "bert_config.json").write_text(bert_config.to_json())
    shutil.copy(vocab_file, ours / "vocab.txt")
    keras_bert.convert_checkpoint(ours, folder / "model", "huggingface")


def _write_batches(file, batches, rates):
    """Under the names of transformers, a number and a slash before them."""
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
