"""A network in LiteRT, ONNX Runtime or OpenVINO, called like a Keras model."""

import dataclasses
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.errors import InputError, import_extra
from keras_bert.predict import versions
from keras_bert.predict.function import Spec

if TYPE_CHECKING:
    import tensorflow as tf

# Arrays, keyed by name.
Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], Arrays]


@dataclasses.dataclass
class Network:
    """A network with the parts of a `keras.Model` that a kind of task needs.

    Attributes:
        run: A function from input arrays to output arrays.
        input: The specifications of the inputs, keyed by name.
        output: The specifications of the outputs, keyed by name.
    """

    run: Run
    input: dict[str, Spec]
    output: dict[str, Spec]

    def __call__(
        self, features: "Mapping[str, tf.Tensor]", training: bool = False
    ) -> "dict[str, tf.Tensor]":
        """Returns the outputs, keyed by name, in a graph or eagerly."""
        import tensorflow as tf

        tensors = tf.numpy_function(
            self._compute,
            [features[name] for name in self.input],
            [spec.dtype for spec in self.output.values()],
        )
        # If there is one output, TensorFlow returns the tensor instead of a
        # list.
        tensors = tf.nest.flatten(tensors)
        outputs = dict(zip(self.output, tensors, strict=True))
        for name, spec in self.output.items():
            outputs[name].set_shape(spec.shape)
        return outputs

    def _compute(self, *arrays: np.ndarray) -> list[np.ndarray]:
        outputs = self.run(dict(zip(self.input, arrays, strict=True)))
        return [outputs[name] for name in self.output]


def load_network(version: Path) -> Network:
    """Returns the network of a version.

    Raises InputError if the format's runtime is not installed, or if the
    network's file is damaged.
    """
    model_format = versions.format_of(version)
    load = {
        "litert": _load_litert,
        "onnx": _load_onnx,
        "openvino": _load_openvino,
    }[model_format]
    description = versions.read_description(version)
    file = version / versions.MODEL_FILES[model_format]
    run = load(file, description["precision"])
    sides = description["network"]
    return Network(run, _to_specs(sides["inputs"]), _to_specs(sides["outputs"]))


def _to_specs(described: Mapping[str, Any]) -> dict[str, Spec]:
    return {
        name: Spec(np.dtype(x["dtype"]), tuple(x["shape"]))
        for name, x in described.items()
    }


def _load_litert(file: Path, precision: str) -> Run:
    litert = import_extra("ai_edge_litert.interpreter", "litert")
    try:
        interpreter = litert.Interpreter(str(file), num_threads=_num_threads())
    except ValueError as error:
        raise _damaged(file, "a LiteRT network") from error
    serve = interpreter.get_signature_runner("serving_default")
    lock = threading.Lock()  # calls share the buffers of the interpreter

    def run(arrays: Arrays) -> Arrays:
        with lock:
            return serve(**arrays)

    return run


def _load_onnx(file: Path, precision: str) -> Run:
    onnxruntime = import_extra("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _num_threads()
    try:
        session = onnxruntime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        # ONNX Runtime's errors have no public base class.
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise _damaged(file, "an ONNX network") from error
    names = [output.name for output in session.get_outputs()]
    return lambda x: dict(zip(names, session.run(names, x), strict=True))


def _load_openvino(file: Path, precision: str) -> Run:
    openvino = import_extra("openvino", "openvino")
    # By default, OpenVINO computes in bfloat16 where the CPU can.
    numbers = "bf16" if precision == "bfloat16" else "f32"
    try:
        compiled = openvino.compile_model(
            file,
            "CPU",
            {
                "INFERENCE_PRECISION_HINT": numbers,
                "INFERENCE_NUM_THREADS": _num_threads(),
                "PERFORMANCE_HINT": "LATENCY",
            },
        )
    except RuntimeError as error:
        raise _damaged(file, "an OpenVINO network") from error
    request = compiled.create_infer_request()
    lock = threading.Lock()  # calls share the buffers of the request

    def run(arrays: Arrays) -> Arrays:
        with lock:
            outputs = request.infer(arrays, share_inputs=True)
            # An output may have the name of the operation as a second name.
            return {
                name: array
                for output, array in outputs.items()
                for name in output.names
            }

    return run


def _damaged(file: Path, what: str) -> InputError:
    return InputError(f"{file} is not {what}; export the model again.")


def _num_threads() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows
