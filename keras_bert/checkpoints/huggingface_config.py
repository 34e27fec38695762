"""BertConfig -> Hugging Face's config.json; and what such a file says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_bert.config import HUGGINGFACE_ACTS, BertConfig
from keras_bert.errors import InputError


def to_huggingface_config(
    config: BertConfig, architecture: str, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns the values of a config.json.

    Args:
        config: The network.
        architecture: The name of a class, such as "BertForPreTraining".
        labels: The names of a classifier's outputs, in order.

    Raises:
        InputError: If transformers cannot build the network.
    """
    values = dataclasses.asdict(config)
    if values.pop("directionality") != "bidi":
        raise InputError(
            "A left-to-right BERT has no counterpart in transformers; keep "
            "it in another format."
        )
    # "gelu" has two names in transformers; the first one is the usual one.
    acts = {ours: name for name, ours in reversed(HUGGINGFACE_ACTS.items())}
    if labels:
        values["id2label"] = {str(i): name for i, name in enumerate(labels)}
        values["label2id"] = {name: i for i, name in enumerate(labels)}
    return values | {
        "architectures": [architecture],
        "hidden_act": acts[config.hidden_act],
        "model_type": "bert",
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "torch_dtype": "float32",
    }


def read_huggingface_config(folder: Path) -> dict[str, Any]:
    """Returns the values of the config.json of a checkpoint, if it has one.

    Raises InputError if the file is damaged.
    """
    file = folder / "config.json"
    if not file.is_file():
        return {}
    try:
        return dict(json.loads(file.read_bytes()))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{file} is not the JSON object of a model config ({error}); copy "
            "it again."
        ) from error
