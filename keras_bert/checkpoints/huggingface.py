"""Names of weights in Hugging Face transformers, read and written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from keras_bert.checkpoints.heads import (
    choose_head,
    heads_of,
    known_heads,
    without_left_out,
)
from keras_bert.checkpoints.names import NameTable, modules
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError

_LAYER = "encoder.layer.{i}"
# Without the prefix "bert.". PyTorch stores a kernel as [units, inputs].
_EMBEDDINGS = {
    "embeddings/word_embeddings": "embeddings.word_embeddings",
    "embeddings/position_embeddings": "embeddings.position_embeddings",
    "embeddings/segment_embeddings": "embeddings.token_type_embeddings",
}
_DENSE = {
    "layer_{i}/attention/query": f"{_LAYER}.attention.self.query",
    "layer_{i}/attention/key": f"{_LAYER}.attention.self.key",
    "layer_{i}/attention/value": f"{_LAYER}.attention.self.value",
    "layer_{i}/attention/output": f"{_LAYER}.attention.output.dense",
    "layer_{i}/intermediate": f"{_LAYER}.intermediate.dense",
    "layer_{i}/output": f"{_LAYER}.output.dense",
    "pooler/dense": "pooler.dense",
    "masked_lm/transform": "cls.predictions.transform.dense",
    "next_sentence/dense": "cls.seq_relationship",
}
_LAYER_NORMS = {
    "embeddings/layer_norm": "embeddings.LayerNorm",
    "layer_{i}/attention_layer_norm": f"{_LAYER}.attention.output.LayerNorm",
    "layer_{i}/output_layer_norm": f"{_LAYER}.output.LayerNorm",
    "masked_lm/layer_norm": "cls.predictions.transform.LayerNorm",
}
# A constant, and a copy of cls.predictions.bias.
_NOT_WEIGHTS = {"embeddings.position_ids", "cls.predictions.decoder.bias"}
_WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
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
) -> dict[str, StoredArray]:
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
    decoder, words = plain.pop(_DECODER, None), plain.get(_WORD_EMBEDDINGS)
    outputs = {}
    for module in {head.huggingface for head in known_heads()} - {None}:
        if f"{module}.weight" in plain:
            heads = [h for h in known_heads() if h.huggingface == module]
            head = choose_head(
                heads,
                plain[f"{module}.weight"].shape[0],
                architectures or (_DEFAULT_ARCHITECTURE,),
            )
            if head:
                outputs[head.path] = module
    arrays = _table(outputs).to_paths(plain, source)
    if decoder and words and not np.array_equal(decoder.read(), words.read()):
        arrays[UNTIED_DECODER] = decoder.transposed
    return arrays


def to_huggingface(
    arrays: Mapping[str, StoredArray],
) -> tuple[dict[str, StoredArray], str]:
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
    stored = _table(outputs).to_names(arrays)
    if not heads:
        return stored, architecture
    return {
        f"bert.{name}"
        if name.startswith(("embeddings.", "encoder.", "pooler."))
        else name: array
        for name, array in stored.items()
    }, architecture


def _table(outputs):
    dense = _DENSE | outputs
    return NameTable(
        {"masked_lm/output_bias": "cls.predictions.bias"}
        | modules(_EMBEDDINGS, {"": ".weight"})
        | modules(dense, {"/kernel": ".weight", "/bias": ".bias"})
        | modules(_LAYER_NORMS, {"/gamma": ".weight", "/beta": ".bias"}),
        transposed=[f"{path}/kernel" for path in dense],
    )
