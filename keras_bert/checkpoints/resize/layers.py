"""A checkpoint -> the same checkpoint with some of its layers."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from keras_bert.checkpoints.resize.checkpoint import (
    read_checkpoint,
    write_checkpoint,
)
from keras_bert.errors import InputError
from keras_bert.io.whole_files import check_is_new

_LAYER = re.compile(r"layer_(\d+)/")


def keep_layers(
    checkpoint: str | Path, output_dir: str | Path, layers: Sequence[int]
) -> None:
    """Keeps some encoder blocks of a checkpoint, and all other weights.

    The result is where the training of a smaller network begins, as DistilBERT
    does (Sanh et al. 2019, arXiv 1910.01108, section 3); see `distill`. The
    state of the optimizer is not copied.

    Example:
        >>> keras_bert.checkpoints.keep_layers("pretrained", "shallow", [1])
        >>> keras_bert.load_pretrained(
        ...     "shallow", max_seq_length=16
        ... ).config.num_hidden_layers
        1

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is whole.
        layers: The numbers of the blocks from 0, the lowest one, in rising
            order.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If there is no such layer, or `output_dir` exists.
    """
    check_is_new(output_dir)
    arrays, config, tokenizer = read_checkpoint(checkpoint)
    count = config.num_hidden_layers
    numbers = [] if isinstance(layers, (int, str)) else list(layers)
    in_order = [i for i in range(count) if i in numbers]
    if not numbers or numbers != in_order or bool in map(type, numbers):
        raise InputError(
            f"layers is {layers!r}, but must be a list of different numbers in "
            f"rising order, from 0 to {count - 1}: {checkpoint} has {count} "
            "layers."
        )
    layers = in_order
    kept = {}
    for path, array in arrays.items():
        found = _LAYER.match(path)
        if not found:
            kept[path] = array
        elif int(found[1]) in layers:
            number = layers.index(int(found[1]))
            kept[f"layer_{number}/{path[found.end() :]}"] = array
    config = dataclasses.replace(config, num_hidden_layers=len(layers))
    write_checkpoint(output_dir, kept, config, tokenizer)
