"""Texts -> outputs of a pre-trained model's layers, in a file."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.input_files import open_text
from keras_bert.io.whole_files import atomic_path
from keras_bert.layers.pooling import cls_pooling, max_pooling, mean_pooling
from keras_bert.models.encoder import build_encoder
from keras_bert.text.packing import BertPreprocessor, pad
from keras_bert.vectors.feature_files import LineFeatures, get_writer
from keras_bert.vectors.features_config import ExtractionConfig

# The number of batches that are sorted by length together. Sorting saves
# padding, and the lines of a chunk wait in memory until they are written.
_BATCHES_PER_CHUNK = 16
_POOLINGS = {
    "none": lambda x, input_mask: x,
    "cls": cls_pooling,
    "mean": mean_pooling,
    "max": max_pooling,
}


def extract_features(
    input_file: str | Path,
    output_file: str | Path,
    checkpoint: str | Path,
    *,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    config: ExtractionConfig | None = None,
) -> int:
    """Writes outputs of a model's layers for each line of a file.

    The suffix of the output file selects the format: `.npz`, `.tfrecord`, or
    any other suffix for Google's JSON lines. feature_files.py describes them.

    Example:
        >>> with open("texts.txt", "w") as file:
        ...     _ = file.write("a good film\\nthe fox ||| a dog\\n")
        >>> config = keras_bert.vectors.ExtractionConfig(
        ...     layers="-1", pooling="mean", max_seq_length=16
        ... )
        >>> keras_bert.vectors.extract_features(
        ...     "texts.txt", "out.npz", "pretrained", config=config
        ... )
        2
        >>> np.load("out.npz")["layer_-1"].shape
        (2, 12)

    Args:
        input_file: One text a line, or a pair of texts as `A ||| B`.
        output_file: The file to write; it appears when it is whole.
        checkpoint: Anything that `load_checkpoint` takes.
        bert_config: The network; by default from the checkpoint's folder.
        vocab_file: The word pieces; by default from the checkpoint's folder.
        config: Layers, pooling and sizes.

    Returns:
        The number of lines.
    """
    config = config or ExtractionConfig()
    bert_config, tokenizer = load_config_and_tokenizer(
        checkpoint,
        bert_config=bert_config,
        vocab_file=vocab_file,
        do_lower_case=config.do_lower_case,
    )
    _check(config, bert_config)
    encoder = build_encoder(bert_config)
    load_checkpoint(encoder, checkpoint)
    num_layers = bert_config.num_hidden_layers
    compute = _build_compute(
        encoder,
        [f"layer_{n % num_layers}" for n in config.layer_numbers],
        _POOLINGS[config.pooling],
    )
    write = get_writer(output_file)
    with (
        open_text(input_file, errors="strict", newline="\n") as lines,
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
    """Lines `A` and `A ||| B` -> ragged features in the lines' order."""
    places, packed = [], []
    for is_pair in (False, True):
        texts = {
            place: line.strip().rsplit(" ||| ", 1)
            for place, line in enumerate(lines)
            if (" ||| " in line.strip()) == is_pair
        }
        if texts:
            places += texts
            columns = _columns(texts.values())
            packed.append(preprocessor.pack(*columns).features)
    order = np.argsort(places)
    return {
        name: tf.gather(tf.concat([p[name] for p in packed], axis=0), order)
        for name in packed[0]
    }


def _columns(rows):
    return [tf.constant(column) for column in zip(*rows, strict=True)]


def _build_compute(encoder, names, pool):
    """Returns a function: features -> [B, S, H] or pooled [B, H] by name."""
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
