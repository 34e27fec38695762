"""A network -> a file that LiteRT, ONNX Runtime or OpenVINO can run."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError, import_extra
from keras_bert.export import onnx_int8
from keras_bert.export.quiet import quiet
from keras_bert.io.whole_files import full_disk_named

# The version of the ONNX operations that tf2onnx writes.
_OPSET = 17


def write_litert(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network for LiteRT; its inputs and outputs keep their names.

    With `int8`, LiteRT multiplies integers of 8 bits. Each column of a weight
    has a scale. Each row of a layer's input has a scale too, which is computed
    at run time ("dynamic range").

    Raises InputError if the network has an operation that LiteRT lacks.
    """
    module = tf.Module()
    # The converter looks for the variables in the module.
    module.weights = [x.value for x in model.variables]
    module.serve = tf.function(
        lambda **features: model(features, training=False), autograph=False
    )
    graph = module.serve.get_concrete_function(**_to_specs(model.input))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([graph], module)
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    try:
        content = converter.convert()
    except Exception as error:
        # The class of the error is not public.
        if type(error).__name__ != "ConverterError":
            raise
        raise _lacking("LiteRT", model) from error
    file.write_bytes(content)


def write_onnx(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network in ONNX; its inputs and outputs keep their names.

    With `int8`, ONNX Runtime multiplies integers of 8 bits; see `onnx_int8`.

    Raises InputError if tf2onnx or ONNX Runtime is not installed.
    """
    onnx = import_extra("onnx", "onnx")
    is_int8 = precision == "int8"
    network = _to_onnx(model, fuses_gelu=is_int8)
    if is_int8:
        network = onnx_int8.quantize(network)
    onnx.save(network, file)


def write_openvino(
    model: keras.Model,
    precision: str,
    file: Path,
    calibration: Sequence[Mapping[str, tf.Tensor]] = (),
) -> None:
    """Writes a network for OpenVINO; its inputs and outputs keep their names.

    With `bfloat16`, OpenVINO computes in bfloat16; the weights are stored in
    float16, which rounds less than bfloat16. With `int8`, OpenVINO multiplies
    integers of 8 bits. Each column of a weight has a scale. The whole input of
    a layer has one scale, which the export computes from `calibration`
    ("static").

    Raises InputError if OpenVINO or NNCF is not installed, if OpenVINO lacks
    an operation of the network, or if `calibration` is empty with `int8`.
    """
    openvino = import_extra("openvino", "openvino")
    if precision == "int8":
        nncf = import_extra("nncf", "openvino")
        if not calibration:
            raise InputError(
                "OpenVINO's int8 needs texts of the task, but none were given; "
                "give --data_dir, or in Python the argument calibration."
            )
    specs = _to_specs(model.input)
    function = tf.function(
        lambda *tensors: model(dict(zip(specs, tensors, strict=True))),
        input_signature=list(specs.values()),
        autograph=False,
    ).get_concrete_function()
    if sys.version_info >= (3, 13):
        # OpenVINO's own function deletes a local variable in `exec`, which is
        # an error since Python 3.13.
        utils = import_extra("openvino.frontend.tensorflow.utils", "openvino")
        utils.get_environment_setup = lambda _: {"tensorflow": tf.__version__}
    try:
        network = openvino.convert_model(function, share_weights=False)
    except openvino.frontend.OpConversionFailure as error:
        raise _lacking("OpenVINO", model) from error
    _fuse_layer_norms(network)
    if precision == "int8":
        with quiet("nncf"):
            network = nncf.quantize(
                network,
                nncf.Dataset(calibration),
                model_type=nncf.ModelType.TRANSFORMER,
                subset_size=len(calibration),
                # Weights of seven bits, as in `onnx_int8`.
                advanced_parameters=nncf.AdvancedQuantizationParameters(
                    overflow_fix=nncf.OverflowFix.ENABLE
                ),
            )
    with full_disk_named(file.name, RuntimeError):
        openvino.save_model(
            network, file, compress_to_fp16=precision == "bfloat16"
        )


def _fuse_layer_norms(network: Any) -> None:
    """Rewrites each layer norm of an OpenVINO network as MVN, gamma and beta.

    Keras computes x * scale - mean * scale + beta with scale = gamma / std, a
    form that OpenVINO does not recognize. With MVN, BERT-base is 1.03 times as
    fast for 8 texts of 128 tokens, and 1.17 times for 1 text of 10 tokens.
    """
    passes = import_extra("openvino.passes", "openvino")
    operations = import_extra("openvino.opset13", "openvino")
    replace_node = import_extra("openvino.utils", "openvino").replace_node

    def pattern(name: str, *inputs: Any) -> Any:
        return passes.WrapType(f"opset1.{name}", list(inputs))

    x, axes, epsilon, power, gamma, minus, beta = (
        passes.AnyInput() for _ in range(7)
    )
    mean = pattern("ReduceMean", x, axes)
    square = pattern("SquaredDifference", x, mean)
    variance = pattern("ReduceMean", square, passes.AnyInput())
    inverse = pattern("Power", pattern("Add", variance, epsilon), power)
    scale = pattern("Multiply", inverse, gamma)
    shift = pattern("Multiply", pattern("Multiply", mean, minus), scale)
    # OpenVINO leaves out a beta of zeros.
    shift = passes.Or([pattern("Add", shift, beta), shift])
    output = pattern("Add", pattern("Multiply", x, scale), shift)

    def replace(match: Any) -> bool:
        values = match.get_pattern_value_map()

        def number(part: Any) -> float:
            return values[part].get_node().data.item()

        if (number(power), number(minus)) != (-0.5, -1.0):
            return False
        normalized = operations.mvn(
            values[x],
            values[axes],
            normalize_variance=True,
            eps=number(epsilon),
            eps_mode="inside_sqrt",
        )
        result = operations.multiply(normalized, values[gamma])
        if beta in values:
            result = operations.add(result, values[beta])
        root = match.get_match_root()
        result.set_friendly_name(root.get_friendly_name())
        replace_node(root, result)
        return True

    matcher_pass = passes.MatcherPass()
    matcher_pass.register_matcher(passes.Matcher(output, "layer_norm"), replace)
    manager = passes.Manager()
    manager.register_pass(matcher_pass)
    manager.run_passes(network)


def _lacking(engine: str, model: keras.Model) -> InputError:
    return InputError(
        f"{engine} lacks an operation of the network {model.name}; choose "
        "another format, such as onnx."
    )


# Each function takes a network, its precision and the file to write.
WRITERS: dict[str, Callable[..., None]] = {
    "litert": write_litert,
    "onnx": write_onnx,
    "openvino": write_openvino,
}


def _to_specs(tensors: Mapping[str, Any]) -> dict[str, tf.TensorSpec]:
    return {k: tf.TensorSpec(x.shape, x.dtype, k) for k, x in tensors.items()}


def _to_onnx(model: keras.Model, fuses_gelu: bool) -> Any:
    """Returns a network in ONNX; the weights are added after the conversion.

    tf2onnx copies a graph dozens of times. If the graph contained the weights
    of BERT-base, the copies would take 23 GB.
    """
    onnx = import_extra("onnx", "onnx")
    tf2onnx = import_extra("tf2onnx", "onnx")
    inputs = _to_specs(model.input)
    trainable, other = model.trainable_variables, model.non_trainable_variables
    weights = {f"weight_{i}": x for i, x in enumerate(trainable + other)}

    def call(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        values = tensors[len(inputs) :]
        outputs, _ = model.stateless_call(
            values[: len(trainable)],
            values[len(trainable) :],
            dict(zip(inputs, tensors, strict=False)),
            training=False,
        )
        return outputs

    specs = [*inputs.values(), *_to_specs(weights).values()]
    with quiet("tensorflow", "tf2onnx"):
        network, _ = tf2onnx.convert.from_function(
            tf.function(call, input_signature=specs, autograph=False),
            input_signature=specs,
            opset=_OPSET,
            custom_op_handlers={"Erfc": (partial(_erfc, fuses_gelu), [])},
        )
    graph = network.graph
    kept = [x for x in graph.input if x.name in inputs]
    del graph.input[:]
    graph.input.extend(kept)
    used = {name for node in graph.node for name in node.input}
    graph.initializer.extend(
        onnx.numpy_helper.from_array(keras.ops.convert_to_numpy(x), name)
        for name, x in weights.items()
        if name in used
    )
    return network


def _erfc(fuses_gelu: bool, graph: Any, node: Any, name: str, _: Any) -> None:
    """Replaces erfc(x), which tf2onnx does not know, with 1 - erf(x).

    With `fuses_gelu`, erfc(-x * c) becomes 1 + erf(x / (1 / c)). ONNX Runtime
    computes a gelu of this form in one step.
    """
    one = graph.make_const(f"{name}_one", np.float32(1.0))
    x, sign = node.inputs[0], "Sub"
    if fuses_gelu and x.type == "Mul" and x.inputs[0].type == "Neg":
        divisor = 1 / x.inputs[1].get_tensor_value(as_list=False)
        divisor = graph.make_const(f"{name}_divisor", divisor)
        positive = x.inputs[0].input[0]
        x = graph.make_node("Div", [positive, divisor.output[0]])
        sign = "Add"
    erf = graph.make_node("Erf", [x.output[0]])
    node.type = sign
    graph.replace_inputs(node, [one.output[0], erf.output[0]])
