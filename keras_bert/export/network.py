"""A fine-tuned model -> a folder with its network in another format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import describe
from keras_bert.export.litert import write_litert
from keras_bert.export.model_card import network_card
from keras_bert.export.onnx import write_onnx
from keras_bert.export.saved_model import describe_signatures
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import to_json
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import spec_to_json
from keras_bert.predict.network import load_network, to_specs
from keras_bert.predict.versions import DESCRIPTION, MODEL_FILES, new_version
from keras_bert.text.tokenizer_json import tokenizer_json

_WRITERS = {"litert": write_litert, "onnx": write_onnx}
# The largest difference of the outputs of a float32 network, relative to the
# largest output. Kernels add up numbers in different orders.
_TOLERANCE = 1e-3


def export_network(
    model: keras.Model,
    kind: Kind,
    export_dir: str | Path,
    *,
    config: ExportConfig,
    bert_config: BertConfig,
    training: Mapping[str, Any],
) -> Path:
    """Writes the next version of a fine-tuned model, such as `lite/1`.

    The folder appears when it is whole. It holds:

        network.tflite or network.onnx: The network. Its inputs and outputs
            have the names of those of `model`.
        README.md: The model card, which tells how to make the inputs.
        assets/model.json: The description, with the inputs and outputs.
        assets/tokenizer.json: The tokenizer, for clients in other languages.
        assets/: What this package needs to answer strings: `vocab.txt`,
            `tokenizer_config.json`, `bert_config.json` and `task.json`.

    Args:
        model: The network.
        kind: Turns strings into its inputs, and its outputs into answers.
        export_dir: The folder of all versions of the model.
        config: The format and the precision.
        bert_config: The encoder.
        training: What is known of the training, for the model card.

    Returns:
        The folder of the new version.

    Raises:
        InputError: If the network has an operation that the format lacks, or
            a package of the format is not installed.
    """
    inputs, outputs = to_specs(model.input), to_specs(model.output)
    assets = {
        **kind.tokenizer.sidecars(bert_config.max_position_embeddings),
        "tokenizer.json": tokenizer_json(kind.tokenizer),
        "bert_config.json": bert_config.to_json(),
        "task.json": spec_to_json(kind.spec),
        DESCRIPTION: to_json(
            {
                **describe(kind),
                **describe_signatures(kind.signatures(model)),
                "precision": config.precision,
                "network": {
                    "inputs": _to_values(inputs),
                    "outputs": _to_values(outputs),
                },
            }
        ),
    }
    with new_version(export_dir, config.format) as version:
        file = version.path / MODEL_FILES[config.format]
        _WRITERS[config.format](model, config.precision, file)
        (version.path / "assets").mkdir()
        for name, text in assets.items():
            (version.path / "assets" / name).write_text(
                text, encoding="utf-8", newline="\n"
            )
        card = network_card(
            to_path(export_dir).absolute().name,
            model,
            kind,
            bert_config,
            training,
            file_name=file.name,
        )
        (version.path / "README.md").write_text(card, encoding="utf-8")
        if config.precision == "float32":
            _check(model, load_network(version.path), kind)
    return version.path


def _check(model, network, kind):
    """Raises an error if the outputs are not those of the model."""
    shape = [2, 3, 5][-len(kind.id_signature(model).inputs[0].shape) :]
    ids = np.random.default_rng(0).integers(0, kind.tokenizer.vocab_size, shape)
    arrays = [x.astype("int32") for x in (ids, ids * 0 + 1, ids * 0)]
    expected, found = (
        kind.id_signature(x).function(*map(tf.constant, arrays))
        for x in (model, network)
    )
    for name, values in expected.items():
        expected_values = np.asarray(values, "float64")
        found_values = np.asarray(found[name], "float64")
        error = np.abs(found_values - expected_values).max()
        if not error <= _TOLERANCE * max(1.0, np.abs(expected_values).max()):
            raise RuntimeError(
                f"The exported network differs by {error:.1e} in {name}."
            )


def _to_values(specs):
    return {
        name: {"dtype": spec.dtype.name, "shape": list(spec.shape)}
        for name, spec in specs.items()
    }
