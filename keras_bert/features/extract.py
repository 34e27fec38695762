"""Texts -> what the layers of a pre-trained model say of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.casing import warn_of_other_case
from keras_bert.checkpoints.find import config_and_vocab
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.features.feature_files import LineFeatures, get_writer
from keras_bert.files import atomic_path
from keras_bert.models.encoder import build_encoder
from keras_bert.text.packing import BertPreprocessor, pad
from keras_bert.text.tokenizer import BertTokenizer

# So many batches are sorted by length at a time: little padding is computed,
# and few lines wait to be written.
_BATCHES_PER_CHUNK = 16


@dataclasses.dataclass(frozen=True)
class ExtractionConfig:
    """What is to be extracted; names as in google-research/bert.

    Attributes:
        layers: Numbers of layers with commas between: -1 is the last one, 0
            the first behind the embeddings.
        pooling: none, for a vector of each token; or, for one of the whole
            text, cls (its first token), mean or max, over its tokens with
            [CLS] and [SEP].
        max_seq_length: Longer texts are cut, the longer of a pair first.
        batch_size: Texts that go through the model at a time.
        do_lower_case: Whether the vocabulary is uncased.
    """

    layers: str = "-1,-2,-3,-4"
    pooling: str = "none"
    max_seq_length: int = 128
    batch_size: int = 32
    do_lower_case: bool = True

    def __post_init__(self):
        if not re.fullmatch(r"-?\d+(,-?\d+)*", self.layers):
            raise InputError(
                f"layers {self.layers!r} are not numbers with commas between, "
                "such as -1,-2."
            )
        if self.pooling not in _POOLINGS:
            raise InputError(
                f"pooling {self.pooling!r} is not one of "
                f"{', '.join(_POOLINGS)}."
            )
        if self.batch_size < 1:
            raise InputError(
                f"batch_size is {self.batch_size}, but must be at least 1."
            )

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.layers.split(",")))


def extract_features(
    input_file: str | Path,
    output_file: str | Path,
    init_checkpoint: str | Path,
    *,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    config: ExtractionConfig | None = None,
) -> int:
    """Writes what layers of a model say of each line; returns their number.

    The form follows from the ending of the output file: `.npz`, `.tfrecord`,
    or any other for Google's JSON lines. feature_files.py says what each has.

    Args:
        input_file: A text a line, or a pair as `A ||| B`.
        output_file: Appears when it is whole.
        init_checkpoint: Whatever `load_checkpoint` takes.
        bert_config: The network; by default the one beside the weights.
        vocab_file: Its word pieces; by default those beside the weights.
        config: Layers, pooling and sizes.
    """
    config = config or ExtractionConfig()
    bert_config, vocab_file = config_and_vocab(
        init_checkpoint, bert_config, vocab_file
    )
    warn_of_other_case(init_checkpoint, config.do_lower_case)
    tokenizer = BertTokenizer(vocab_file, config.do_lower_case)
    _check(config, bert_config)
    bert_config.check_vocab_size(tokenizer.vocab_size, vocab_file)
    encoder = build_encoder(bert_config)
    load_checkpoint(encoder, init_checkpoint)
    num_layers = bert_config.num_hidden_layers
    compute = _build_compute(
        encoder,
        [f"layer_{n % num_layers}" for n in config.layer_numbers],
        _POOLINGS[config.pooling],
    )
    write = get_writer(output_file)
    with (
        open(input_file, encoding="utf-8", newline="\n") as lines,
        atomic_path(output_file) as path,
    ):
        found = _extract(lines, compute, tokenizer, config)
        return write(path, found, tokenizer)


def _check(config, bert_config):
    num_layers = bert_config.num_hidden_layers
    for number in config.layer_numbers:
        if not -num_layers <= number < num_layers:
            raise InputError(
                f"There is no layer {number}: the model has {num_layers}, "
                f"from {-num_layers} to -1, or from 0 to {num_layers - 1}."
            )
    bert_config.check_max_seq_length(config.max_seq_length)


def _extract(lines, compute, tokenizer, config) -> Iterator[LineFeatures]:
    preprocessor = BertPreprocessor(tokenizer, config.max_seq_length)
    size = config.batch_size
    while chunk := list(itertools.islice(lines, size * _BATCHES_PER_CHUNK)):
        packed = _pack(chunk, preprocessor)
        lengths = packed["input_ids"].row_lengths().numpy()
        order = np.argsort(lengths, kind="stable")
        found = {}
        for places in np.split(order, range(size, len(order), size)):
            batch = {k: tf.gather(x, places) for k, x in packed.items()}
            layers = [x.numpy() for x in compute(pad(batch))]
            for row, place in enumerate(places):
                found[place] = LineFeatures(
                    batch["input_ids"][row].numpy(),
                    {
                        number: x[row, : lengths[place]]
                        if x.ndim == 3
                        else x[row]
                        for number, x in zip(
                            config.layer_numbers, layers, strict=True
                        )
                    },
                )
        yield from (found[place] for place in range(len(chunk)))


def _pack(lines, preprocessor):
    """Lines `A` and `A ||| B` -> ragged features, in the order of the lines."""
    places, packed = [], []
    for is_pair in (False, True):
        texts = {
            place: line.strip().rsplit(" ||| ", 1)
            for place, line in enumerate(lines)
            if (" ||| " in line.strip()) == is_pair
        }
        if texts:
            places += texts
            packed.append(preprocessor.pack(*_columns(texts.values())))
    order = np.argsort(places)
    return {
        name: tf.gather(tf.concat([p[name] for p in packed], axis=0), order)
        for name in packed[0]
    }


def _columns(rows):
    return [tf.constant(column) for column in zip(*rows, strict=True)]


def _build_compute(encoder, names, pool):
    """Features -> of each layer named [B, S, H], or [B, H] if pooled."""
    model = keras.Model(
        encoder.input, {n: encoder.get_layer(n).output for n in names}
    )

    @functools.partial(tf.function, reduce_retracing=True)
    def compute(features):
        input_mask = features["input_mask"]
        shape = tf.concat([tf.shape(input_mask), [-1]], axis=0)
        flat = model(features, training=False)
        hidden = [tf.reshape(flat[name], shape) for name in names]
        return [pool(x, input_mask) for x in hidden]

    return compute


def _mean(x, input_mask):
    weights = tf.cast(input_mask, x.dtype)[:, :, None]
    return tf.reduce_sum(x * weights, axis=1) / tf.reduce_sum(weights, axis=1)


def _max(x, input_mask):
    is_token = input_mask[:, :, None] > 0
    return tf.reduce_max(tf.where(is_token, x, x.dtype.min), axis=1)


_POOLINGS = {
    "none": lambda x, input_mask: x,
    "cls": lambda x, input_mask: x[:, 0],
    "mean": _mean,
    "max": _max,
}
