"""A layer norm as one operation of OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_bert.predict.network import import_engine


def fuse_layer_norms(network: Any) -> None:
    """Writes each layer norm of an OpenVINO network as MVN, gamma and beta.

    Keras computes x * scale - mean * scale + beta with scale = gamma / std, a
    form that OpenVINO does not recognize. BERT-base is 1.03 (8 x 128) to 1.17
    times (1 x 10) as fast with MVN.
    """
    passes = import_engine("openvino.passes", "openvino")
    operations = import_engine("openvino.opset13", "openvino")
    replace_node = import_engine("openvino.utils", "openvino").replace_node

    x, epsilon, gamma, beta, other = (passes.AnyInput() for _ in range(5))
    mean = _pattern("ReduceMean", x, other)
    square = _pattern("SquaredDifference", x, mean)
    variance = _pattern("ReduceMean", square, passes.AnyInput())
    deviation = _pattern("Add", variance, epsilon)
    inverse = _pattern("Power", deviation, passes.AnyInput())
    scale = _pattern("Multiply", inverse, gamma)
    negative = _pattern("Multiply", mean, passes.AnyInput())
    shift = _pattern("Multiply", negative, scale)
    # OpenVINO leaves out a beta of zeros.
    shift = passes.Or([_pattern("Add", shift, beta), shift])
    output = _pattern("Add", _pattern("Multiply", x, scale), shift)

    def replace(match):
        found = match.get_pattern_value_map()
        normalized = operations.mvn(
            found[x],
            operations.constant(np.array([-1], np.int32)),
            normalize_variance=True,
            eps=float(found[epsilon].get_node().data.item()),
            eps_mode="inside_sqrt",
        )
        result = operations.multiply(normalized, found[gamma])
        if beta in found:
            result = operations.add(result, found[beta])
        root = match.get_match_root()
        result.set_friendly_name(root.get_friendly_name())
        replace_node(root, result)
        return True

    matcher_pass = passes.MatcherPass()
    matcher_pass.register_matcher(passes.Matcher(output, "layer_norm"), replace)
    manager = passes.Manager()
    manager.register_pass(matcher_pass)
    manager.run_passes(network)


def _pattern(name, *inputs):
    passes = import_engine("openvino.passes", "openvino")
    return passes.WrapType(f"opset1.{name}", list(inputs))
