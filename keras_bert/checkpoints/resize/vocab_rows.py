"""Weights with one row for each piece -> the same for another vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_bert.checkpoints.huggingface import UNTIED_DECODER
from keras_bert.checkpoints.resize.checkpoint import (
    Checkpoint,
    write_checkpoint,
)
from keras_bert.checkpoints.stored import StoredArray

# The axis of the pieces.
_AXES = {
    "embeddings/word_embeddings": 0,
    "masked_lm/output_bias": 0,
    UNTIED_DECODER: 1,
}


def write_with_vocab(
    output_dir: str | Path,
    checkpoint: Checkpoint,
    vocab: Sequence[str],
    sources: Sequence[Sequence[int]],
) -> dict[str, StoredArray]:
    """Writes a checkpoint with another vocabulary; returns its weights.

    The row of a piece is the mean of the rows of its `sources`, which are ids
    of the old vocabulary. With one source, it is the same bit for bit. All
    other weights stay as they are.
    """
    arrays = checkpoint.arrays | {
        path: _resized(checkpoint.arrays[path], axis, sources)
        for path, axis in _AXES.items()
        if path in checkpoint.arrays
    }
    config = dataclasses.replace(checkpoint.config, vocab_size=len(vocab))
    sidecars = checkpoint.tokenizer.sidecars(config.max_position_embeddings)
    sidecars["vocab.txt"] = "\n".join(vocab) + "\n"
    write_checkpoint(output_dir, arrays, config, sidecars)
    return arrays


def _resized(array, axis, sources):
    shape = list(array.shape)
    shape[axis] = len(sources)
    first = np.array([ids[0] for ids in sources])

    def read():
        old = np.moveaxis(array.read(), axis, 0)
        new = old[first]
        for row, ids in enumerate(sources):
            if len(ids) > 1:
                new[row] = old[list(ids)].mean(axis=0, dtype=np.float64)
        return np.moveaxis(new, 0, axis)

    return StoredArray(tuple(shape), read)
