"""A checkpoint as its parts, of which some are to change."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.load import read_weights
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.checkpoints.safetensors_files import write_safetensors
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.config import BertConfig
from keras_bert.io.whole_files import atomic_path
from keras_bert.text.tokenizer import BertTokenizer


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The parts of a checkpoint; the state of an optimizer is none of them.

    Attributes:
        arrays: The weights under their paths, read on demand.
        config: The network.
        tokenizer: With the vocabulary and the settings of the checkpoint.
    """

    arrays: dict[str, StoredArray]
    config: BertConfig
    tokenizer: BertTokenizer


def read_checkpoint(checkpoint: str | Path) -> Checkpoint:
    """Reads a checkpoint of any format, with its config and vocabulary.

    Raises FileNotFoundError if one of them is missing, and InputError if they
    do not belong together.
    """
    config, tokenizer = load_config_and_tokenizer(checkpoint)
    arrays = read_weights(find_weights(checkpoint))
    return Checkpoint(arrays, config, tokenizer)


def write_checkpoint(
    output_dir: str | Path,
    arrays: Mapping[str, StoredArray],
    config: BertConfig,
    sidecars: Mapping[str, str],
) -> None:
    """Writes a folder in our own format, whole or not at all."""
    with atomic_path(output_dir) as folder:
        folder.mkdir()
        write_safetensors(folder / "model.safetensors", arrays)
        texts = {"bert_config.json": config.to_json(), **sidecars}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")


def num_weights(arrays: Mapping[str, StoredArray]) -> int:
    return sum(math.prod(array.shape) for array in arrays.values())
