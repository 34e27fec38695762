"""A network with the hidden states of its encoder as further outputs."""

from collections.abc import Callable, Collection, Iterable

import keras

from keras_bert.errors import InputError
from keras_bert.layers.reshaping import UnflattenTokens


def with_hidden_states(
    model: keras.Model, layers: Iterable[int]
) -> keras.Model:
    """Adds outputs `hidden_1`, `hidden_2` ... to a network with an encoder.

    They are the outputs of encoder layers, which count from 1; `hidden_0` is
    the output of the embeddings. Their shape is that of `input_mask` with one
    more axis, such as [B, S, H]. The layers and their weights are those of
    the model, computed once.

    The layers themselves compute on the flat tokens of a batch, [B * S, H].

    Raises InputError if the encoder is frozen or has fewer layers.

    Example:
        >>> bert = keras_bert.load_pretrained("pretrained", max_seq_length=16)
        >>> network = keras_bert.models.with_hidden_states(bert.encoder, [0, 2])
        >>> outputs = network(bert.preprocessor(["a good film", "the fox"]))
        >>> outputs["hidden_0"].shape, outputs["hidden_2"].shape
        (TensorShape([2, 5, 12]), TensorShape([2, 5, 12]))
    """
    names = {
        f"hidden_{i}": f"layer_{i - 1}" if i else "flatten_tokens"
        for i in layers
    }
    extended = _with_layers(model, names.values())
    outputs, found = extended.output
    if missing := set(names.values()) - set(found):
        raise InputError(
            f"{model.name} has no {min(missing)} whose hidden states could be "
            "read; choose other layers, or a model whose encoder is trained."
        )
    hidden = {
        name: UnflattenTokens(name=name)(
            found[layer], extended.input["input_mask"]
        )
        for name, layer in names.items()
    }
    return keras.Model(extended.input, {**outputs, **hidden}, name=model.name)


def _with_layers(model: keras.Model, names: Collection[str]) -> keras.Model:
    """Returns a network with the outputs of a model, and of layers by name."""
    found = {x.name: x.output for x in model.layers if x.name in names}
    if found:
        return keras.Model(model.input, (model.output, found))

    # The encoder may be within a network of this one, such as that of one row
    # of several.
    def call(layer, *args, **kwargs):
        if not isinstance(layer, keras.Model):
            return layer(*args, **kwargs)
        outputs, of_layers = _with_layers(layer, names)(*args, **kwargs)
        found.update(of_layers)
        return outputs

    inputs = new_inputs(model)
    outer = call_layers(model, inputs, call)
    return keras.Model(inputs, (outer.output, found))


def new_inputs(model: keras.Model) -> dict[str, keras.KerasTensor]:
    """Returns inputs like those of a model, by name."""
    return {
        name: keras.Input(x.shape[1:], dtype=x.dtype, name=name)
        for name, x in model.input.items()
    }


def call_layers(
    model: keras.Model, inputs: dict[str, keras.KerasTensor], call: Callable
) -> keras.Model:
    """Returns a model of the same layers; `call` calls each on its inputs."""
    return keras.models.clone_model(
        model, inputs, clone_function=lambda layer: layer, call_function=call
    )
