"""A fine-tuned model -> a folder with its network in another format."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from logging import getLogger
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import describe
from keras_bert.export.model_card import finetuned_card
from keras_bert.export.saved_model import describe_signatures, write_texts
from keras_bert.io.whole_files import to_json
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import spec_to_json
from keras_bert.predict.network import import_engine, load_network, to_specs
from keras_bert.predict.versions import DESCRIPTION, MODEL_FILES, new_version
from keras_bert.text.tokenizer_settings import tokenizer_json

# The version of the operations that tf2onnx writes.
_OPSET = 17
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
    write = {"litert": write_litert, "onnx": write_onnx}[config.format]
    with new_version(export_dir, config.format) as version:
        file = version.path / MODEL_FILES[config.format]
        write(model, config.precision, file)
        (version.path / "assets").mkdir()
        write_texts(version.path / "assets", assets)
        card = finetuned_card(
            export_dir, model, kind, bert_config, training, file_name=file.name
        )
        write_texts(version.path, {"README.md": card})
        if config.precision == "float32":
            _check(model, load_network(version.path), kind)
    return version.path


def write_litert(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network with its names of inputs and outputs.

    With `int8`, LiteRT multiplies integers of 8 bits. Each column of a weight
    has its scale, and so has each row of an input, found while it is computed
    ("dynamic range").

    Raises InputError if the network has an operation that LiteRT lacks.
    """
    module = tf.Module()
    # The converter looks for the variables in the module.
    module.weights = [x.value for x in model.variables]
    module.serve = tf.function(
        lambda **features: model(features, training=False), autograph=False
    )
    function = module.serve.get_concrete_function(**to_specs(model.input))
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function], module
    )
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    try:
        content = converter.convert()
    except Exception as error:
        # The class of the error is not public.
        if type(error).__name__ != "ConverterError":
            raise
        raise InputError(
            f"LiteRT lacks an operation of the network {model.name}; choose "
            "another format, such as onnx."
        ) from error
    file.write_bytes(content)


def write_onnx(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network with its names of inputs and outputs.

    With `int8`, ONNX Runtime multiplies integers of 8 bits. Each column of a
    weight has its scale, and so has each input, found while it is computed
    ("dynamic").

    Raises InputError if tf2onnx or ONNX Runtime is not installed.
    """
    tf2onnx = import_engine("tf2onnx")
    quantization = import_engine("onnxruntime.quantization")
    getLogger("tf2onnx").setLevel("ERROR")
    specs = to_specs(model.input)
    function = tf.function(
        lambda *tensors: model(dict(zip(specs, tensors, strict=True))),
        input_signature=list(specs.values()),
        autograph=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        float_file = Path(folder, file.name)
        tf2onnx.convert.from_function(
            function,
            input_signature=function.input_signature,
            opset=_OPSET,
            custom_op_handlers={"Erfc": (_erfc, [])},
            output_path=str(float_file),
        )
        if precision == "float32":
            file.write_bytes(float_file.read_bytes())
            return
        prepared_file = Path(folder, "prepared.onnx")
        quantization.quant_pre_process(
            float_file, prepared_file, skip_symbolic_shape=True
        )
        quantization.quantize_dynamic(
            prepared_file,
            file,
            per_channel=True,
            weight_type=quantization.QuantType.QInt8,
        )


def _erfc(graph, node, name, args):
    """Replaces erfc(x), which tf2onnx does not know, by 1 - erf(x)."""
    erf = graph.insert_new_node_on_input(node, "Erf", node.input[0])
    one = graph.make_const(f"{name}_one", np.float32(1.0))
    node.type = "Sub"
    graph.replace_inputs(node, [one.output[0], erf.output[0]])


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
