"""Our weights and config <-> Hugging Face transformers' names and config."""

import dataclasses
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from keras_bert.checkpoints.family_names import (
    from_bert_names,
    to_bert_names,
    without_prefix,
)
from keras_bert.checkpoints.google import GOOGLE_NAMES
from keras_bert.checkpoints.heads import (
    POOLERS,
    heads_of,
    known_heads,
    stored_heads,
    without_left_out,
)
from keras_bert.checkpoints.names import (
    Arrays,
    Name,
    to_names,
    to_paths,
    weight_names,
)
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.families import name_of
from keras_bert.family_configs import huggingface_values

# Our path -> the name in transformers. A name from google-research/bert gets
# dots and loses the prefix "bert/".
_ENCODER = {
    path: name.removeprefix("bert/")
    .replace("/layer_", "/layer/")
    .replace("/", ".")
    for path, name in GOOGLE_NAMES.items()
} | {
    "masked_lm/output_bias": "cls.predictions.bias",
    "next_sentence/dense": "cls.seq_relationship",
    "flatten_tokens/projection": "embeddings_project",
    "layer_{i}/gate": "encoder.layer.{i}.gate.dense",
    "final_layer_norm": "final_norm",
    "relative_positions/distance_embeddings": "encoder.relative_attention_bias",
    "pooler/layer_norm": "pooler.LayerNorm",
    "token_head/dense": "token_head.dense",
    "token_head/layer_norm": "token_head.LayerNorm",
    "replaced_tokens/dense": "replaced_tokens.dense",
    "replaced_tokens/output": "replaced_tokens.output",
}
# Constants that a file stores beside the weights.
_BUFFERS = {"embeddings.position_ids", "embeddings.token_type_ids"}
# Prefixes that a wrapper of the model adds to all names. A wrapper is, for
# example, torch.compile, or a training loop that holds the model in a field.
_PREFIXES = ("module.", "_orig_mod.", "model.", "0.auto_model.")
# The decoder of the masked LM. Its weights are usually copies of other weights,
# as _COPIES lists. If the decoder's weights are not copies, only an encoder or
# a model with another head can load the checkpoint, because our masked LM has
# no decoder of its own.
_DECODER = {"masked_lm/decoder": "cls.predictions.decoder"}
UNTIED_DECODER = "masked_lm/decoder/kernel"
UNTIED_BIAS = "masked_lm/decoder/bias"
_COPIES = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
# The heads of a model without a task -> the model's class in transformers.
_ARCHITECTURES = {
    (): "BertModel",
    ("masked_lm", "next_sentence"): "BertForPreTraining",
    ("masked_lm",): "BertForMaskedLM",
    ("replaced_tokens",): "BertForPreTraining",
    ("next_sentence",): "BertForNextSentencePrediction",
}


def is_huggingface(names: Arrays) -> bool:
    """Returns whether names are Hugging Face's (dots), not ours (slashes)."""
    return not any("/" in name for name in names)


def from_huggingface(
    stored: Arrays, source: str, family: str, architectures: Collection[str]
) -> Arrays:
    """Returns a transformers model's tensors, keyed by our weight paths.

    Args:
        stored: The tensors, keyed by their names in the file.
        source: The file, for messages.
        family: A row of `keras_bert.families.FAMILIES`.
        architectures: Names of BERT classes with the model's head, such as
            "BertForTokenClassification". They determine what the module
            `classifier` classifies; without names, it classifies whole texts.

    Raises:
        InputError: If a tensor does not belong to the family, or if two tensors
            belong to the same weight, but have different values.
    """
    plain = _without_prefixes(stored, source, family)
    plain = to_bert_names(plain, source, family, architectures)
    for name, original in _COPIES.items():
        copy = plain.get(name)
        # A file may contain the copy, its original, or both.
        if copy and copy.equals(plain.setdefault(original, copy)):
            del plain[name]
    architectures = architectures or ["BertForSequenceClassification"]
    heads = stored_heads(plain, "huggingface", ".weight", architectures)
    return to_paths(plain, _table(heads | _DECODER), source, family)


def _without_prefixes(stored: Arrays, source: str, family: str) -> Arrays:
    """Returns the weights, keyed by their names without prefixes.

    Old names of layer-norm weights become the new names. Raises InputError if
    two tensors get the same name, but have different values.
    """
    prefix, common = "", os.path.commonprefix(list(stored))
    while more := [x for x in _PREFIXES if common.startswith(prefix + x)]:
        prefix += more[0]
    plain: Arrays = {}
    full_names: dict[str, str] = {}
    for full_name, array in stored.items():
        name = without_prefix(full_name.removeprefix(prefix), family)
        # Files from before 2020 name the weights of LayerNorm as TF1 does.
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        twin = full_names.setdefault(name, full_name)
        if not array.equals(plain.setdefault(name, array)):
            raise InputError(
                f"{source} has {full_name} and {twin}, which belong to the "
                "same weight, but have different values; remove one of them."
            )
    return {
        x: array
        for x, array in plain.items()
        if x not in _BUFFERS and not x.endswith("inv_freq")
    }


def has_untied_decoder(paths: Iterable[str]) -> bool:
    """Returns whether the decoder of the masked LM is not tied."""
    return not {UNTIED_DECODER, UNTIED_BIAS}.isdisjoint(paths)


def to_huggingface(arrays: Arrays, family: str) -> tuple[Arrays, str]:
    """Returns our weights keyed by transformers' names, and the model's class.

    The class is the name of a class in transformers, such as "BertForMaskedLM".
    Raises InputError if transformers has no class with the weights' heads.
    """
    arrays = without_left_out(arrays)
    heads = tuple(sorted(heads_of(arrays) - POOLERS))
    if "replaced_tokens" in heads and family != "electra":
        raise InputError(
            "In transformers, only the ELECTRA family has a replaced-token "
            f"head, but this network is of the family {family}; train with a "
            "bert_config of the ELECTRA family."
        )
    architectures, outputs = _ARCHITECTURES.copy(), {}
    for head in known_heads():
        if head.huggingface and heads == (head.path,):
            architectures[heads] = head.architecture
            outputs[head.path] = head.huggingface
    if heads not in architectures:
        raise InputError(
            f"transformers has no {name_of(family)} with the heads "
            f"{', '.join(heads)}; choose another format."
        )
    stored = to_names(arrays, _table(outputs))
    return from_bert_names(stored, family, architectures[heads])


def to_huggingface_config(
    config: BertConfig, architecture: str, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns the values of transformers' config.json for a network.

    Args:
        config: The config of the network.
        architecture: The model's class, such as "BertForPreTraining".
        labels: The names of a classifier's outputs, in order.

    Raises:
        InputError: If transformers cannot build the network.
    """
    if config.directionality != "bidi":
        raise InputError(
            "transformers has no left-to-right BERT; choose another format."
        )
    values = huggingface_values(dataclasses.asdict(config))
    if labels:
        values["id2label"] = {str(i): name for i, name in enumerate(labels)}
        values["label2id"] = {name: i for i, name in enumerate(labels)}
    return values | {"architectures": [architecture], "torch_dtype": "float32"}


def _table(heads: Mapping[str, str]) -> dict[str, Name]:
    return weight_names(
        {**_ENCODER, **heads},
        transposed=True,
        embeddings=".weight",
        kernel=".weight",
        bias=".bias",
        gamma=".weight",
        beta=".bias",
    )
