"""A fine-tuned model -> a SavedModel that takes raw strings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.config import BertConfig
from keras_bert.export.model_card import finetuned_card
from keras_bert.export.saved_model import export_saved_model
from keras_bert.kinds.kind import Kind


def export_finetuned(
    model: keras.Model,
    kind: Kind,
    export_dir: str | Path,
    *,
    bert_config: BertConfig,
    training: Mapping[str, Any],
) -> Path:
    """Writes the next version of a fine-tuned model, such as `served/1`.

    The class of the kind, such as `Classification`, says what
    `serving_default` takes and returns. `serve_ids` takes `input_ids`,
    `input_mask` and `segment_ids`, and returns the outputs of the network.
    `export_saved_model` tells of the other signatures and of the files.

    Args:
        model: The network.
        kind: Turns strings into its inputs, and its outputs into answers.
        export_dir: The folder of all versions of the model.
        bert_config: The encoder.
        training: What is known of the training, for the model card.

    Returns:
        The folder of the new version.
    """
    sidecars = kind.tokenizer.sidecars(bert_config.max_position_embeddings)
    return export_saved_model(
        export_dir,
        {**kind.signatures(model), "serve_ids": kind.id_signature(model)},
        tracked=[model, kind],
        description=describe(kind),
        assets={**sidecars, "bert_config.json": bert_config.to_json()},
        model_card=finetuned_card(
            export_dir, model, kind, bert_config, training
        ),
    )


def describe(kind: Kind) -> dict[str, Any]:
    """Returns what `assets/model.json` says of the task of a model."""
    spec = kind.spec
    return {
        "kind": spec.kind,
        "labels": spec.labels,
        "text_fields": spec.text_fields,
        "max_seq_length": spec.settings.max_seq_length,
        **kind.description(),
    }


def in_bfloat16(
    model: keras.Model, kind: Kind, bert_config: BertConfig
) -> keras.Model:
    """Returns a network whose weights take half of the memory.

    It computes in bfloat16, but for the softmax of the attention, the layer
    norms and the output layer.
    """
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("bfloat16")
    try:
        copy = kind.build_model(bert_config)
    finally:
        keras.config.set_dtype_policy(policy)
    for target, source in zip(copy.weights, model.weights, strict=True):
        target.assign(source)
    return copy
