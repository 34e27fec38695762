"""BertConfig -> Hugging Face's config.json."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
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
