"""A Keras network or a `.keras` file -> the network's config and weights."""

import functools
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.checkpoints.heads import GENERATOR
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.config import BertConfig
from keras_bert.errors import InputError, first_line
from keras_bert.io.weight_paths import weights_by_path

if TYPE_CHECKING:
    import keras

# The settings that BertConfig and BertEmbeddings share.
_OF_TABLE = """
    vocab_size hidden_size max_position_embeddings type_vocab_size
    initializer_range layer_norm_eps
""".split()


def read_keras(file: Path) -> Arrays:
    """Returns the weights of a `.keras` file, with adapters merged in.

    Raises InputError if Keras cannot load the file.
    """
    import keras

    config_of_file(file)  # raises an error if the network is not one of ours
    try:
        network = keras.saving.load_model(file, compile=False)
    # A file can name any class, and the class can raise any error.
    except Exception as error:
        raise InputError(
            f"Keras cannot load {file} ({first_line(error)}); first import "
            "the module that defines its custom layers, or save the network "
            "again with model.save."
        ) from error
    arrays = arrays_of(network)
    return {x: y for x, y in arrays.items() if "/lora_kernel_" not in x}


def arrays_of(network: "keras.Model") -> Arrays:
    """Returns the weights of a network, keyed by their paths."""
    return {
        path: StoredArray(tuple(w.shape), functools.partial(_read, w))
        for path, w in weights_by_path(network).items()
    }


def config_of_file(file: Path) -> BertConfig:
    """Returns the config of the network in a `.keras` file."""
    try:
        with zipfile.ZipFile(file) as archive:
            values = json.loads(archive.read("config.json"))
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{file} is not a complete .keras file ({first_line(error)}); "
            "save it again with model.save."
        ) from error
    return _config(values, str(file))


def config_of_network(network: "keras.Model") -> BertConfig:
    """Returns the config with which a network was built."""
    try:
        values = network.get_config()
    except NotImplementedError:
        values = {}
    return _config(values, "The network")


def _config(values: Any, source: str) -> BertConfig:
    """Returns the BertConfig that the configs of the layers describe."""
    tables = dict(_layers(values, "BertEmbeddings"))
    blocks = dict(_layers(values, "EncoderBlock"))
    blocks = {x: y for x, y in blocks.items() if not x.startswith(GENERATOR)}
    names = {f"layer_{i}" for i in range(len(blocks))}
    found = {
        BertConfig(
            num_hidden_layers=len(blocks),
            num_attention_heads=block["num_heads"],
            intermediate_size=block["intermediate_size"],
            hidden_act=block["activation"],
            hidden_dropout_prob=block["dropout_rate"],
            attention_probs_dropout_prob=block["attention_dropout_rate"],
            directionality=(
                "left_to_right" if block["left_to_right"] else "bidi"
            ),
            **(
                {name: table[name] for name in _OF_TABLE}
                | dict(table.get("family_fields") or {})
            ),
        )
        for table in tables.values()
        for block in blocks.values()
    }
    if set(tables) != {"embeddings"} or set(blocks) != names or len(found) != 1:
        raise InputError(
            f"{source} is not a network of keras_bert.models: it has "
            f"{len(tables)} BertEmbeddings and {len(blocks)} EncoderBlocks, or "
            "their settings differ; give a network from a build_* function."
        )
    return found.pop()


def _layers(values: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each layer of class `name`, at any depth: its name and config."""
    if isinstance(values, Mapping):
        if values.get("registered_name") == f"keras_bert>{name}":
            yield values["config"]["name"], values["config"]
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from _layers(value, name)


def _read(weight: Any) -> np.ndarray:
    import keras

    return np.asarray(keras.ops.convert_to_numpy(weight.value), np.float32)
