"""A layer norm as one operation of OpenVINO."""

from typing import Any

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

    def pattern(name, *inputs):
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

    def replace(match):
        found = match.get_pattern_value_map()

        def number(part):
            return found[part].get_node().data.item()

        if (number(power), number(minus)) != (-0.5, -1.0):
            return False
        normalized = operations.mvn(
            found[x],
            found[axes],
            normalize_variance=True,
            eps=number(epsilon),
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
