r"""Compiles training steps with the TPU compiler, without a TPU.

    python benchmarks/tpu_compile.py --only=bert_tiny --chips=v5e --chips=v6e

The steps are the functions that `TPUStrategy` runs on each chip. Besides this
checkout, the Python environment needs the packages in `environments/tpu.txt`.
Prints a table with a row for each program: whether the program compiles, the
memory that it takes on a chip, and the highest speed that the chip's published
figures allow.
"""

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags
from tpu import compiler, kinds

from keras_bert.config import BertConfig
from keras_bert.models import build_pretraining_model
from keras_bert.models.flops import count_work
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import precision
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.objectives import Objective
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import CountWork, Steps

_CHIPS = flags.DEFINE_multi_enum(
    "chips",
    ["v5e"],
    sorted(compiler.CHIPS),
    "The kinds of chips; the table has a row for each chip and step.",
)
_ONLY = flags.DEFINE_string(
    "only", "", "A prefix of the names of the steps to compile."
)


# The programs other than training steps, and their names in titles.
_STEPS = {"test_step": "evaluation", "id_signature": "exported"}


class _Row(NamedTuple):
    """A program to compile: a network, and how the network is trained.

    The `objective` is "pre-training" or the name of a kind of task.
    """

    model: str
    batch_size: int
    seq_length: int
    objective: str = "pre-training"
    step: str = "train_step"
    optimizer: str = "adam_weight_decay"
    num_parts: int = 1
    precision: str = "bfloat16"

    @property
    def title(self) -> str:
        parts = [self.model, self.objective]
        if self.step != "train_step":
            parts.append(_STEPS[self.step])
        elif self.optimizer != "adam_weight_decay":
            parts.append(self.optimizer)
        if self.num_parts > 1:
            parts.append(f"accumulated over {self.num_parts}")
        if self.precision != "bfloat16":
            parts.append(self.precision)
        return ", ".join(parts)


_ROWS = (
    _Row("bert_tiny", 32, 128),
    _Row("bert_tiny", 32, 128, step="test_step"),
    _Row("bert_tiny", 32, 128, optimizer="lamb"),
    _Row("bert_tiny", 32, 128, optimizer="adamw"),
    _Row("bert_tiny", 32, 128, num_parts=4),
    _Row("bert_tiny", 32, 128, precision="float32"),
    *(_Row("bert_tiny", 32, 128, objective=name) for name in kinds.NAMES),
    *(
        _Row("bert_tiny", 32, 128, objective=name, step="id_signature")
        for name in kinds.NAMES
    ),
    _Row("bert_base_uncased", 32, 128),
    _Row("bert_base_uncased", 320, 128),  # about the largest batch that fits
    _Row("bert_base_uncased", 8, 512),
    _Row("bert_base_uncased", 32, 128, objective="classification"),
    _Row("bert_large_uncased", 32, 128),
    _Row("bert_large_uncased", 4, 512),
)


def main(_):
    rows = [row for row in _ROWS if row.title.startswith(_ONLY.value)]
    if not rows:
        titles = "; ".join(row.title for row in _ROWS)
        raise app.UsageError(
            f"No step begins with {_ONLY.value!r}; there are {titles}."
        )
    compiler.find_compiler()
    head = ("step", "chip", "batch", "tokens", *compiler.HEAD, "compiled in")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        for name in _CHIPS.value:
            print(_table_row(row, name), flush=True)


def _table_row(row: _Row, name: str) -> str:
    chip = compiler.CHIPS[name]
    keras.utils.clear_session(free_memory=True)
    begin = time.perf_counter()
    try:
        compiled = compiler.compile_tensorflow(*_program(row), chip)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        line = str(error).strip().splitlines()[0]
        figures = [f"not compiled: {line}"]
    else:
        figures = [
            *compiled.cells(chip, row.batch_size),
            f"{time.perf_counter() - begin:.0f} s",
        ]
    cells = [row.title, name, str(row.batch_size), str(row.seq_length)]
    return f"| {' | '.join(cells + figures)} |"


_Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _program(row: _Row) -> _Program:
    """Returns a row's function, and the arguments with static shapes."""
    config = BertConfig.from_name(row.model)
    with precision(row.precision):
        if row.objective == "pre-training":
            return _pretraining(row, config)
        kind = kinds.make_kind(row.objective, row.seq_length, config)
        network = kind.build_model(config)
        if row.step == "id_signature":
            signature = kind.id_signature(network)
            return signature.function, kinds.make_ids(
                signature, row.batch_size, row.seq_length
            )
        return _step(
            row,
            network,
            kind.training_objectives,
            kind.work_counter(config),
            kinds.make_batch(kind, row.batch_size),
        )


def _pretraining(row: _Row, config: BertConfig) -> _Program:
    shape = row.batch_size, row.seq_length
    predictions = row.batch_size, round(0.15 * row.seq_length)
    features = {
        name: np.ones(shape, "int32")
        for name in ("input_ids", "input_mask", "segment_ids")
    } | {"masked_lm_positions": np.ones(predictions, "int32")}
    labels = {
        "masked_lm": np.ones(predictions, "int32"),
        "next_sentence": np.ones(row.batch_size, "int32"),
    }
    weights = {name: np.ones(x.shape, "float32") for name, x in labels.items()}
    return _step(
        row,
        build_pretraining_model(config),
        dict.fromkeys(labels, Objective(cross_entropy, {"accuracy": accuracy})),
        functools.partial(count_work, config=config, num_labels=2),
        (features, labels, weights),
    )


def _step(
    row: _Row,
    network: keras.Model,
    objectives: Mapping[str, Objective],
    count_work: CountWork,
    batch: tuple[dict, ...],
) -> _Program:
    settings = TrainConfig(optimizer=row.optimizer, precision=row.precision)
    steps = Steps(
        network,
        objectives,
        build_optimizer(settings, 1_000_000, 10_000),
        count_work=count_work,
        gradient_accumulation_steps=row.num_parts,
    )
    batch = tf.nest.map_structure(tf.constant, batch)
    return getattr(steps, row.step), (batch,)


if __name__ == "__main__":
    app.run(main)
