"""Names of weights in Hugging Face transformers, and its config.json."""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.checkpoints.google import GOOGLE_NAMES
from keras_bert.checkpoints.heads import (
    heads_of,
    known_heads,
    stored_heads,
    without_left_out,
)
from keras_bert.checkpoints.names import (
    Arrays,
    StoredArray,
    to_names,
    to_paths,
    weight_names,
)
from keras_bert.config import HUGGINGFACE_ACTS, BertConfig
from keras_bert.errors import InputError

# The names of google-research/bert with dots, without the prefix "bert.".
_ENCODER = {
    path: name.removeprefix("bert/")
    .replace("/layer_", "/layer/")
    .replace("/", ".")
    for path, name in GOOGLE_NAMES.items()
} | {
    "masked_lm/output_bias": "cls.predictions.bias",
    "next_sentence/dense": "cls.seq_relationship",
}
_WORDS = "embeddings.word_embeddings.weight"
# A constant, and a copy of cls.predictions.bias.
_NOT_WEIGHTS = {"embeddings.position_ids", "cls.predictions.decoder.bias"}
_DECODER = "cls.predictions.decoder.weight"
# The path of a decoder that is not a copy of the word embeddings. No model
# here has one, so only an encoder or another head loads such a checkpoint.
UNTIED_DECODER = "masked_lm/decoder/kernel"
# The heads of a model without a task, and what transformers calls the model.
_ARCHITECTURES = {
    (): "BertModel",
    ("masked_lm", "next_sentence"): "BertForPreTraining",
    ("masked_lm",): "BertForMaskedLM",
    ("next_sentence",): "BertForNextSentencePrediction",
}
# What a `classifier` classifies if config.json does not say it: whole texts.
_DEFAULT_ARCHITECTURE = "BertForSequenceClassification"


def is_huggingface(names: Mapping[str, StoredArray]) -> bool:
    """Tells Hugging Face's names, with dots, from ours, with slashes."""
    return not any("/" in name for name in names)


def from_huggingface(
    stored: Mapping[str, StoredArray],
    source: str,
    *,
    architectures: Collection[str] = (),
) -> Arrays:
    """Renames the tensors of any BERT model that transformers saved.

    Args:
        stored: The tensors by their names.
        source: The file, for messages.
        architectures: The entry of config.json, which tells what a
            `classifier` is. By default it classifies whole texts.

    Raises:
        InputError: If a tensor does not belong to BERT.
    """
    plain = {}
    for full_name, array in stored.items():
        name = full_name.removeprefix("bert.")
        # Files from before 2020 name the weights of LayerNorm as TF1 does.
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        if name not in _NOT_WEIGHTS:
            plain[name] = array
    decoder, words = plain.pop(_DECODER, None), plain.get(_WORDS)
    heads = stored_heads(
        plain,
        "huggingface",
        ".weight",
        architectures or (_DEFAULT_ARCHITECTURE,),
    )
    arrays = to_paths(plain, _table(heads), source)
    if decoder and words and not np.array_equal(decoder.read(), words.read()):
        arrays[UNTIED_DECODER] = decoder.transposed
    return arrays


def to_huggingface(arrays: Mapping[str, StoredArray]) -> tuple[Arrays, str]:
    """Renames our weights; returns them and the name of the architecture.

    Raises InputError if transformers has no model with these heads.
    """
    arrays = without_left_out(arrays)
    heads = tuple(sorted(heads_of(arrays) - {"pooler"}))
    tasks = {(head.path,): head for head in known_heads() if head.huggingface}
    if heads in _ARCHITECTURES:
        architecture, outputs = _ARCHITECTURES[heads], {}
    elif heads in tasks:
        head = tasks[heads]
        architecture, outputs = head.architecture, {head.path: head.huggingface}
    else:
        raise InputError(
            f"transformers has no BERT with the heads {', '.join(heads)}."
        )
    stored = to_names(arrays, _table(outputs))
    of_encoder = ("embeddings.", "encoder.", "pooler.")
    return {
        f"bert.{name}" if heads and name.startswith(of_encoder) else name: array
        for name, array in stored.items()
    }, architecture


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


def _table(heads):
    return weight_names(
        _ENCODER | heads,
        transposed=True,
        embeddings=".weight",
        kernel=".weight",
        bias=".bias",
        gamma=".weight",
        beta=".bias",
    )
