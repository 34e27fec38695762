"""A network with the hidden states of its encoder as further outputs."""

from collections.abc import Iterable

import keras

from keras_bert.errors import InputError
from keras_bert.layers.flat_tokens import UnflattenTokens


def with_hidden_states(
    model: keras.Model, layers: Iterable[int]
) -> keras.Model:
    """Adds outputs `hidden_1`, `hidden_2` ... to a network with an encoder.

    They are the outputs of encoder layers, which count from 1; `hidden_0` is
    the output of the embeddings. Their shape is that of `input_mask` with one
    more axis, such as [B, S, H]. The layers and their weights are those of
    the model, computed once.

    Raises InputError if the encoder is frozen.
    """
    inputs = {
        name: keras.Input(x.shape[1:], dtype=x.dtype, name=name)
        for name, x in model.input.items()
    }
    by_layer: dict[str, keras.KerasTensor] = {}

    def run(network, tensors):
        # A network inside of this one, such as an encoder of folded rows,
        # becomes part of the one graph, where its layers can be read.
        return network._run_through_graph(
            tensors, operation_fn=lambda layer: layer, call_fn=call
        )

    def call(layer, *args, **kwargs):
        if isinstance(layer, keras.Model):
            return run(layer, *args)
        by_layer[layer.name] = layer(*args, **kwargs)
        return by_layer[layer.name]

    outputs = run(model, inputs)
    layers = {i: f"layer_{i - 1}" if i else "flatten_tokens" for i in layers}
    if not by_layer.keys() >= set(layers.values()):
        raise InputError(
            f"{model.name} does not give the hidden states of its encoder, "
            "which is not trained; choose a model without `features`."
        )
    hidden = {
        f"hidden_{i}": UnflattenTokens(name=f"hidden_{i}")(
            by_layer[layer], inputs["input_mask"]
        )
        for i, layer in layers.items()
    }
    return keras.Model(inputs, {**outputs, **hidden}, name=model.name)
