"""An ONNX network -> the same network with weights of 8 bits."""

from typing import Any

import numpy as np

from keras_bert.checkpoints.quantized import round_to_bytes
from keras_bert.errors import import_extra

# Three functions in the syntax of `onnx.parser`. In a rounded input, the
# integer 128 stands for 0.
_FUNCTIONS = """
<opset_import: ["" : 17], domain: "int8"> quantize_rows (x) => (q, scales) {
    sizes = Abs (x)
    largest = ReduceMax <axes: ints = [-1]> (sizes)
    step = Constant <value_float: float = 0.007874016> ()
    smallest = Constant <value_float: float = 1e-30> ()
    product = Mul (largest, step)
    scales = Max (product, smallest)
    rows = Flatten <axis: int = -1> (x)
    any_number = Constant <value_ints: ints = [-1]> ()
    of_rows = Reshape (scales, any_number)
    number = Shape (of_rows)
    zero = Constant <value: tensor = uint8 zero {128}> ()
    zeros = Expand (zero, number)
    q_rows = QuantizeLinear <axis: int = 0> (rows, of_rows, zeros)
    shape = Shape (x)
    q = Reshape (q_rows, shape)
}

<opset_import: ["" : 17], domain: "int8">
multiply (q, scales, weight, weight_scales) => (y) {
    zero = Constant <value: tensor = uint8 zero {128}> ()
    integers = MatMulInteger (q, weight, zero)
    numbers = Cast <to: int = 1> (integers)
    scaled = Mul (numbers, scales)
    y = Mul (scaled, weight_scales)
}

<opset_import: ["" : 17], domain: "int8">
look_up (table, table_scales, ids) => (y) {
    integers = Gather (table, ids)
    scales = Gather (table_scales, ids)
    numbers = Cast <to: int = 1> (integers)
    y = Mul (numbers, scales)
}
"""


def quantize(network: Any) -> Any:
    """Returns a float32 network that multiplies integers of 8 bits.

    Both `network` and the result are of type `onnx.ModelProto`. Each column of
    a matrix and each row of an embedding table has a scale. Each row of a
    layer's input has a scale too, which is computed at run time ("dynamic").
    The answer to a text therefore does not depend on the other texts of the
    batch. With ONNX Runtime's `quantize_dynamic`, the answer depends on them,
    because all rows of an input share one scale.
    """
    onnx = import_extra("onnx", "onnx")
    graph = network.graph
    weights = {
        x.name: onnx.numpy_helper.to_array(x)
        for x in graph.initializer
        if len(x.dims) == 2 and x.data_type == onnx.TensorProto.FLOAT
    }
    nodes: list[Any] = []
    added: dict[str, np.ndarray] = {}
    replaced: set[str] = set()
    quantized: set[str] = set()

    def call(function: str, inputs: list[str], outputs: Any) -> None:
        nodes.append(
            onnx.helper.make_node(function, inputs, outputs, domain="int8")
        )

    def rounded(name: str, axis: int, largest: int) -> list[str]:
        """Returns two names: the weight in 8 bits, and its scales."""
        replaced.add(name)
        names = [f"{name}_int8_{axis}", f"{name}_scales_{axis}"]
        arrays = round_to_bytes(weights[name], axis, largest)
        added.update(zip(names, arrays, strict=True))
        return names

    for node in graph.node:
        first, second = [*node.input, "", ""][:2]
        by_rows = not any(x.i for x in node.attribute)  # the axis of Gather
        if node.op_type == "Gather" and first in weights and by_rows:
            table = rounded(first, axis=1, largest=127)
            call("look_up", [*table, second], node.output)
        elif node.op_type == "MatMul" and second in weights:
            rows = [f"{first}_int8", f"{first}_scales"]
            if first not in quantized:
                quantized.add(first)
                call("quantize_rows", [first], rows)
            # Seven bits: CPUs without VNNI add two products in 16 bits, which
            # would overflow with eight bits.
            matrix = rounded(second, axis=0, largest=63)
            call("multiply", [*rows, *matrix], node.output)
        else:
            nodes.append(node)
    replaced -= {name for node in nodes for name in node.input}
    kept = [x for x in graph.initializer if x.name not in replaced]
    kept += [onnx.numpy_helper.from_array(x, y) for y, x in added.items()]
    for field, values in (("node", nodes), ("initializer", kept)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    network.opset_import.append(onnx.helper.make_opsetid("int8", 1))
    functions = _FUNCTIONS.strip().split("\n\n")
    network.functions.extend(map(onnx.parser.parse_function, functions))
    inliner = import_extra("onnx.inliner", "onnx")
    network = inliner.inline_local_functions(network)
    del network.opset_import[-1]  # all functions are inlined
    return network
