"""A checkpoint -> a copy with more positions, or with fewer layers."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.heads import known_heads
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.read import write_safetensors
from keras_bert.checkpoints.sentence_transformers import modules_folder
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.whole_files import atomic_path, check_is_new, write_texts

if TYPE_CHECKING:
    from keras_bert.text.tokenizer import BertTokenizer

# The weights, config, tokenizer and task. The task is {"task.json": the text of
# this file}, or empty for no task.
WholeCheckpoint = tuple[Arrays, BertConfig, "BertTokenizer", dict[str, str]]
_POSITIONS = "embeddings/position_embeddings"
# ELECTRA's generator has as many layers as its discriminator.
_LAYER = re.compile(r"((?:generator_)?layer_)(\d+)/")


def extend_positions(
    checkpoint: str | Path, output_dir: str | Path, max_position_embeddings: int
) -> None:
    """Writes a checkpoint with more positions, such as 1,024 instead of 512.

    The table of position embeddings is repeated, as in Longformer (arXiv
    2004.05150, section 5): position 512 gets a copy of the row of position 0.
    So neighboring tokens still have neighboring rows, and only the borders
    between copies are new to the network. Train the new checkpoint on long
    texts afterwards. All other weights stay the same, bit for bit. The state of
    the optimizer is not copied.

    Example:
        >>> keras_bert.checkpoints.extend_positions("pretrained", "longer", 40)
        >>> bert = keras_bert.load_pretrained("longer", max_seq_length=40)
        >>> table = bert.encoder.get_layer("embeddings").position_embeddings
        >>> bool(np.all(table[16:32] == table[:16]))
        True

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is complete.
        max_position_embeddings: The new number of positions.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the model already has this number of positions or more,
            if it has rotary positions, or if `output_dir` exists.
    """
    check_is_new(output_dir)
    arrays, config, tokenizer, task = read_checkpoint(checkpoint)
    num_old = config.max_position_embeddings
    if max_position_embeddings <= num_old:
        raise InputError(
            f"max_position_embeddings is {max_position_embeddings}, but "
            f"{checkpoint} has {num_old} already; give a larger number."
        )
    if _POSITIONS not in arrays:
        raise InputError(
            f"{checkpoint} has rotary positions, so it has no table to extend; "
            "write a larger max_position_embeddings into its config."
        )
    table, first = arrays[_POSITIONS], config.first_position
    shape = (first + max_position_embeddings, table.shape[1])

    def longer() -> np.ndarray:
        rows = table.read()
        # np.resize repeats the rows until the new shape is full.
        new = np.resize(rows[first:], (max_position_embeddings, shape[1]))
        return np.concatenate([rows[:first], new])

    arrays[_POSITIONS] = StoredArray(shape, longer)
    config = dataclasses.replace(
        config, max_position_embeddings=max_position_embeddings
    )
    write_checkpoint(output_dir, (arrays, config, tokenizer, task))


def keep_layers(
    checkpoint: str | Path, output_dir: str | Path, layers: Sequence[int]
) -> None:
    """Writes a copy of a checkpoint, with only some of its encoder blocks.

    The weights outside the blocks are kept. The training of a smaller network
    can start from the copy, as for DistilBERT (Sanh et al. 2019, arXiv
    1910.01108, section 3); see `distill`. The state of the optimizer is not
    copied.

    Example:
        >>> keras_bert.checkpoints.keep_layers("pretrained", "shallow", [1])
        >>> keras_bert.load_pretrained(
        ...     "shallow", max_seq_length=16
        ... ).config.num_hidden_layers
        1

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is complete.
        layers: The indices of the blocks to keep, from 0 for the lowest block,
            in ascending order.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the network lacks one of the `layers`, if its layers
            differ too much to leave one out, or if `output_dir` exists.
    """
    check_is_new(output_dir)
    arrays, config, tokenizer, task = read_checkpoint(checkpoint)
    count = config.num_hidden_layers
    numbers = [] if isinstance(layers, (int, str)) else list(layers)
    chosen = [i for i in range(count) if i in numbers]
    if not numbers or numbers != chosen or bool in map(type, numbers):
        raise InputError(
            f"layers is {layers!r}, but must be a list of numbers in ascending "
            f"order, from 0 to {count - 1}: {checkpoint} has {count} layers."
        )
    if config.norm_placement == "before" or config.local_attention:
        raise InputError(
            f"In {checkpoint}, the first layer and the full-attention layers "
            "differ from the others, so no layer can be left out; give a "
            "checkpoint of another family."
        )
    kept = {}
    for path, array in arrays.items():
        layer = _LAYER.match(path)
        if not layer:
            kept[path] = array
        elif int(layer[2]) in chosen:
            number = chosen.index(int(layer[2]))
            kept[f"{layer[1]}{number}/{path[layer.end() :]}"] = array
    config = dataclasses.replace(config, num_hidden_layers=len(chosen))
    write_checkpoint(output_dir, (kept, config, tokenizer, task))


def read_checkpoint(checkpoint: str | Path) -> WholeCheckpoint:
    """Returns the weights of a checkpoint, its config, tokenizer and task.

    The task of a fine-tuned model is {"task.json": the text of this file};
    write the file into the new checkpoint to keep the task. For any other
    model, the task is an empty dict.

    Raises FileNotFoundError if the checkpoint, config or vocabulary is missing,
    and InputError if the config and the vocabulary do not belong together.
    """
    whole = Checkpoint.of(checkpoint)
    config, tokenizer = load_config_and_tokenizer(whole)
    of_hub = {head.path for head in known_heads() if head.huggingface}
    has_task = whole.hub_config and of_hub & whole.heads
    if not whole.task and (has_task or modules_folder(whole.folder)):
        logging.warning(
            "%s is a model of another library. The new checkpoint keeps its "
            "weights, but not its labels, pooling and prompts; to keep these, "
            "run keras-bert convert --to=keras first, and resize the converted "
            "model.",
            checkpoint,
        )
    return whole.arrays, config, tokenizer, whole.task


def write_checkpoint(output_dir: str | Path, whole: WholeCheckpoint) -> None:
    """Writes a checkpoint folder in our own format.

    The folder appears when it is complete.
    """
    arrays, config, tokenizer, task = whole
    texts = {
        "bert_config.json": config.to_json(),
        **tokenizer.sidecars(config.max_position_embeddings),
        **task,
    }
    with atomic_path(output_dir) as folder:
        folder.mkdir()
        write_safetensors(folder / "model.safetensors", arrays)
        write_texts(folder, texts)
