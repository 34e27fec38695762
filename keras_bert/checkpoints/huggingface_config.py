"""Hugging Face's config.json <-> the keys of `bert_config.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_bert.errors import InputError

# Google's "gelu" is the tanh form; Hugging Face's "gelu" is the erf form.
_HIDDEN_ACTS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "linear": "linear",
    "relu": "relu",
    "tanh": "tanh",
}


def from_huggingface_config(values: dict[str, Any]) -> dict[str, Any]:
    """Translates the values that mean something else there, or refuses."""
    if values.get("model_type", "bert") != "bert":
        raise InputError(
            f"model_type is {values['model_type']!r}; only 'bert' has the "
            "network built here."
        )
    position_type = values.get("position_embedding_type", "absolute")
    if position_type != "absolute":
        raise InputError(
            f"position_embedding_type {position_type!r} is not BERT's; only "
            "'absolute' is supported."
        )
    if values.get("is_decoder"):
        raise InputError("is_decoder is true, but BERT is an encoder.")
    act = values.get("hidden_act", "gelu")
    if act not in _HIDDEN_ACTS:
        raise InputError(
            f"hidden_act {act!r} is not one of {', '.join(_HIDDEN_ACTS)}."
        )
    return values | {"hidden_act": _HIDDEN_ACTS[act]}


def to_huggingface_config(
    values: dict[str, Any],
    architecture: str,
    *,
    labels: Sequence[str] = (),
    pad_token_id: int = 0,
) -> dict[str, Any]:
    """Makes a config.json.

    Args:
        values: All fields of a `BertConfig`.
        architecture: Such as "BertForPreTraining".
        labels: The names of a classifier's outputs, in their order.
        pad_token_id: The id of "[PAD]".

    Raises:
        InputError: For a network that transformers has not.
    """
    values = dict(values)
    if values.pop("directionality") != "bidi":
        raise InputError(
            "A left-to-right BERT has no counterpart in transformers; keep "
            "it in another format."
        )
    theirs = {ours: act for act, ours in reversed(_HIDDEN_ACTS.items())}
    if labels:
        values["id2label"] = {str(i): name for i, name in enumerate(labels)}
        values["label2id"] = {name: i for i, name in enumerate(labels)}
    return values | {
        "architectures": [architecture],
        "hidden_act": theirs[values["hidden_act"]],
        "model_type": "bert",
        "pad_token_id": pad_token_id,
        "position_embedding_type": "absolute",
        "torch_dtype": "float32",
    }
