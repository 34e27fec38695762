"""A checkpoint -> the same checkpoint for longer texts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from keras_bert.checkpoints.resize.checkpoint import (
    read_checkpoint,
    write_checkpoint,
)
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError
from keras_bert.io.whole_files import check_is_new

_POSITIONS = "embeddings/position_embeddings"


def extend_positions(
    checkpoint: str | Path,
    output_dir: str | Path,
    max_position_embeddings: int,
) -> None:
    """Gives a checkpoint more positions, such as 1,024 instead of 512.

    The position embeddings are copied over and over, as Longformer does
    (arXiv 2004.05150, section 5): position 512 begins with the row of position
    0. So a token still knows what is next to it, and only the borders of the
    copies are new to the network. Train it on long texts afterwards. All other
    weights stay bit for bit; the state of the optimizer is not copied.

    Example:
        >>> keras_bert.checkpoints.extend_positions("pretrained", "longer", 40)
        >>> bert = keras_bert.load_pretrained("longer", max_seq_length=40)
        >>> table = bert.encoder.get_layer("embeddings").position_embeddings
        >>> bool(np.all(table[16:32] == table[:16]))
        True

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is whole.
        max_position_embeddings: The new number of positions.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If this is not more than before, or `output_dir` exists.
    """
    check_is_new(output_dir)
    old = read_checkpoint(checkpoint)
    num_old = old.config.max_position_embeddings
    if max_position_embeddings <= num_old:
        raise InputError(
            f"max_position_embeddings is {max_position_embeddings}, but "
            f"{checkpoint} has {num_old} already; give a larger number."
        )
    table = old.arrays[_POSITIONS]
    shape = (max_position_embeddings, table.shape[1])
    write_checkpoint(
        output_dir,
        # np.resize repeats the rows until the new shape is full.
        old.arrays
        | {
            _POSITIONS: StoredArray(
                shape, lambda: np.resize(table.read(), shape)
            )
        },
        dataclasses.replace(
            old.config, max_position_embeddings=max_position_embeddings
        ),
        old.tokenizer.sidecars(max_position_embeddings),
    )
