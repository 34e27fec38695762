"""A fine-tuned model -> a folder that a server loads, in any format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.export import saved_model
from keras_bert.export.config import ExportConfig
from keras_bert.export.model_card import finetuned_card
from keras_bert.export.network import WRITERS
from keras_bert.io.whole_files import to_json, write_texts
from keras_bert.kinds.fields import check_text_fields
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import spec_to_json
from keras_bert.predict.network import load_network
from keras_bert.predict.versions import DESCRIPTION, MODEL_FILES, new_version
from keras_bert.text.tokenizer import PortableTokenizer
from keras_bert.text.tokenizer_json import tokenizer_json
from keras_bert.training.distribution import precision, require_tensorflow

# The largest allowed difference between an output of an exported float32
# network and the model's output, relative to the model's largest output. The
# two outputs differ because kernels add up numbers in different orders.
_TOLERANCE = 1e-3


def export_finetuned(
    model: keras.Model,
    kind: Kind,
    export_dir: str | Path,
    *,
    bert_config: BertConfig,
    training: Mapping[str, Any],
    config: ExportConfig | None = None,
    calibration: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Writes the next version of a fine-tuned model, such as `served/1`.

    The folder appears when it is complete. In a SavedModel, `serving_default`
    is the signature for strings; the docstring of the kind's class, such as
    `Classification`, describes its inputs and outputs. `serve_ids` takes
    `input_ids`, `input_mask` and `segment_ids`, and returns the outputs of the
    network. `export_saved_model` describes the other signatures and the files.
    In any other format, the folder contains:

        network.tflite, network.onnx, or network.xml and network.bin: The
            network; its inputs and outputs have the same names as in `model`.
        README.md: The model card.
        assets/model.json: The description of the model, its inputs and its
            outputs.
        assets/tokenizer.json: The tokenizer, for clients in other programming
            languages.
        assets/: The files with which this package answers strings: `vocab.txt`,
            `tokenizer_config.json`, `bert_config.json` and `task.json`.

    Args:
        model: The network.
        kind: The kind of task, which turns strings into the network's inputs,
            and its outputs into answers.
        export_dir: The folder of all versions of the model.
        bert_config: The config of the encoder.
        training: Facts about the training, for the model card.
        config: The format and the precision; by default, a SavedModel. The
            weights of a SavedModel have the precision of `model`.
        calibration: Rows of the task. For OpenVINO in int8, the range of each
            layer's inputs is computed from these rows.

    Returns:
        The folder of the new version.

    Raises:
        InputError: If the network has an operation that the format lacks, if a
            package for the format is not installed, or if a text field has a
            name that no input can have.
    """
    require_tensorflow()
    config = ExportConfig.checked(config)
    check_text_fields(kind.spec.text_fields)
    if config.portable:
        kind = type(kind)(kind.spec, PortableTokenizer.of(kind.tokenizer))
    in_saved_model = config.format == "saved_model"
    file_name = "" if in_saved_model else MODEL_FILES[config.format]
    assets = {
        **kind.tokenizer.sidecars(bert_config.max_position_embeddings),
        "bert_config.json": bert_config.to_json(),
    }
    description = {
        "kind": kind.spec.kind,
        "labels": kind.spec.labels,
        "text_fields": kind.spec.text_fields,
        "max_seq_length": kind.spec.settings.max_seq_length,
        **kind.description(),
    }
    card = finetuned_card(
        export_dir, model, kind, bert_config, training, file_name=file_name
    )
    signatures = kind.signatures(model)
    if in_saved_model:
        return saved_model.export_saved_model(
            export_dir,
            {**signatures, "serve_ids": kind.id_signature(model)},
            tracked=[model, kind],
            description=description,
            assets=assets,
            model_card=card,
        )
    description |= saved_model.describe_signatures(signatures)
    description |= _describe_network(model, config.precision)
    tokenizer = tokenizer_json(kind.tokenizer, kind.tokenizer.found_in_text())
    assets |= {
        "tokenizer.json": tokenizer,
        "task.json": spec_to_json(kind.spec),
        DESCRIPTION: to_json(description),
    }
    texts = {f"assets/{name}": text for name, text in assets.items()}
    options = {}
    if config.may_calibrate and calibration:
        options["calibration"] = _inputs(kind, calibration)
    with new_version(export_dir, config.format) as version:
        file, write = version.path / file_name, WRITERS[config.format]
        write(model, config.precision, file, **options)
        write_texts(version.path, {"README.md": card, **texts})
        if config.precision == "float32":
            _check(model, load_network(version.path), kind)
    return version.path


def _describe_network(model: keras.Model, precision: str) -> dict[str, Any]:
    sides = {"inputs": model.input, "outputs": model.output}
    network = {
        side: {
            name: {"dtype": x.dtype, "shape": list(x.shape)}
            for name, x in tensors.items()
        }
        for side, tensors in sides.items()
    }
    return {"precision": precision, "network": network}


def _inputs(
    kind: Kind, rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, tf.Tensor]]:
    """Returns the network's inputs: a batch of one for each row."""
    examples = kind.encode(rows, labeled=False)
    indices = tf.range(len(examples.rows))[:, None]
    return [examples.batch(index)[0] for index in indices]


def in_bfloat16(
    model: keras.Model, kind: Kind, bert_config: BertConfig
) -> keras.Model:
    """Returns a bfloat16 copy of a network.

    The copy computes in bfloat16, except for the softmax of the attention, the
    layer norms and the output layer.
    """
    with precision("bfloat16", is_mixed=False):
        copy = kind.build_model(bert_config)
    for target, source in zip(copy.weights, model.weights, strict=True):
        target.assign(source)
    return copy


def _check(model: keras.Model, network: Any, kind: Kind) -> None:
    """Raises an error if the exported network's outputs are not the model's."""
    shape = [2, 3, 5][-len(kind.id_signature(model).inputs[0].shape) :]
    ids = np.random.default_rng(0).integers(0, kind.tokenizer.vocab_size, shape)
    inputs = [tf.constant(x, tf.int32) for x in (ids, ids * 0 + 1, ids * 0)]
    expected = kind.id_signature(model).function(*inputs)
    exported = kind.id_signature(network).function(*inputs)
    for name, values in expected.items():
        values = np.asarray(values, "float64")
        error = np.abs(np.asarray(exported[name], "float64") - values).max()
        if not error <= _TOLERANCE * max(1.0, np.abs(values).max()):
            raise RuntimeError(
                f"The output {name} of the exported network differs from the "
                f"model's by {error:.1e}."
            )
