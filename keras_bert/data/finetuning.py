"""Rows of a task -> batches of features and labels, of like length."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.tasks.base import Row, Task
from keras_bert.text.packing import BertPreprocessor, pad

_ROWS_PER_CALL = 10_000
# Batches are cut of so many at a time, sorted by length: enough to leave
# next to no padding, few enough that every batch is another one each epoch.
_BATCHES_PER_POOL = 64


@dataclasses.dataclass(frozen=True)
class Examples:
    """Packed ids, ragged [N, (tokens)], and labels [N] where they have some."""

    packed: dict[str, tf.RaggedTensor]
    labels: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray:
        return self.packed["input_ids"].row_lengths().numpy()

    def batch(self, indices: tf.Tensor) -> tuple[dict[str, tf.Tensor], ...]:
        """The examples at `indices`, padded to the longest of them."""
        features = pad(
            {name: tf.gather(x, indices) for name, x in self.packed.items()}
        )
        if self.labels is None:
            return (features,)
        return features, {"logits": tf.gather(self.labels, indices)}


def encode_examples(
    rows: list[Row],
    text_fields: tuple[str, ...],
    preprocessor: BertPreprocessor,
    labels: np.ndarray | None = None,
) -> Examples:
    """Tokenizes and packs the text fields of all rows."""
    for number, row in enumerate(rows, 1):
        if missing := [field for field in text_fields if field not in row]:
            raise ValueError(
                f"Example {number} has no field {missing[0]!r}, only "
                f"{', '.join(row)}; check text_fields and the reader."
            )
    chunks = []
    for i in range(0, len(rows), _ROWS_PER_CALL):
        chunk = rows[i : i + _ROWS_PER_CALL]
        texts = ([row[field] for row in chunk] for field in text_fields)
        chunks.append(preprocessor.pack(*map(tf.constant, texts)))
    packed = {n: tf.concat([c[n] for c in chunks], 0) for n in chunks[0]}
    return Examples(packed, labels)


def encode_labels(rows: list[Row], task: Task) -> np.ndarray:
    """Names of labels -> int32 ids [N]; numbers -> float32 [N]."""
    values = []
    for number, row in enumerate(rows, 1):
        label = row.get("label")
        try:
            if task.head == "classification":
                values.append(task.labels.index(label))
            else:
                values.append(float(label))
        except (TypeError, ValueError) as error:
            expected = (
                f"one of {', '.join(task.labels)}"
                if task.labels
                else "a number"
            )
            raise ValueError(
                f"Label {label!r} of example {number} is not {expected}; "
                "check the labels and the reader of the task."
            ) from error
    return np.array(values, np.int32 if task.labels else np.float32)


def training_batches(
    examples: Examples, *, batch_size: int, num_epochs: int, seed: int
) -> tf.data.Dataset:
    """Every example once an epoch, in batches of like length, shuffled."""
    random = np.random.default_rng(seed)
    lengths = examples.lengths
    pool_size = batch_size * _BATCHES_PER_POOL
    batches = []
    for _ in range(num_epochs):
        order = random.permutation(len(lengths))
        epoch = []
        for i in range(0, len(order), pool_size):
            pool = order[i : i + pool_size]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            epoch += np.split(pool, range(batch_size, len(pool), batch_size))
        batches += [epoch[i] for i in random.permutation(len(epoch))]
    return _dataset(examples, batches)


def evaluation_batches(
    examples: Examples, *, batch_size: int
) -> tuple[tf.data.Dataset, np.ndarray]:
    """Every example once, the shortest first, and their places in `examples`.

    Row i of the model's output belongs to the example of the i-th place.
    """
    order = np.argsort(examples.lengths, kind="stable")
    batches = np.split(order, range(batch_size, len(order), batch_size))
    return _dataset(examples, batches), order


def _dataset(examples, batches):
    indices = tf.RaggedTensor.from_row_lengths(
        np.concatenate(batches), [len(batch) for batch in batches]
    )
    return (
        tf.data.Dataset.from_tensor_slices(indices)
        .map(examples.batch, tf.data.AUTOTUNE)
        .prefetch(2)
    )
