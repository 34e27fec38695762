"""A network -> a network of the same layers, with new inputs or outputs."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import keras

from keras_bert.errors import InputError
from keras_bert.layers.attention_readings import (
    AttentionProbabilities,
    AttentionRelations,
    AttentionScores,
)
from keras_bert.layers.embeddings import BertEmbeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.pooler import Pooler, PredictionHead
from keras_bert.layers.positions import RelativePositions, RotaryPositions
from keras_bert.layers.reshaping import FlattenTokens, UnflattenTokens
from keras_bert.layers.sequences import RowPositions, SequencePooling

_POOLINGS = Pooler, SequencePooling
# Layers of Keras and of this package that compute each vector on its own, so
# that a row may have any number of vectors.
_OF_A_VECTOR = (
    "Cast Concatenate Dense Dropout LabelThresholds NextSentenceHead "
    "Normalize".split()
)
_KEEP_APART = (
    *(BertEmbeddings, FlattenTokens, EncoderBlock, UnflattenTokens),
    *(PredictionHead, RelativePositions, RotaryPositions),
)


def with_hidden_states(
    model: keras.Model, layers: Iterable[int]
) -> keras.Model:
    """Returns a network with more outputs: `hidden_1`, `hidden_2` ...

    `hidden_1` is the output of the first encoder layer, and `hidden_0` is the
    output of the embeddings. If the encoder ends with a norm, the output of the
    last layer includes this norm. The new outputs have the shape of
    `input_mask` with one more axis, such as [B, S, H]. The new network has the
    model's own layers and weights, and computes each layer once.

    Raises InputError if the model has no encoder layer with one of the numbers
    in `layers`, neither of its own nor in a `keras.Model` inside it.

    Example:
        >>> bert = keras_bert.load_pretrained("pretrained", max_seq_length=16)
        >>> network = keras_bert.models.with_hidden_states(bert.encoder, [0, 2])
        >>> outputs = network(bert.preprocessor(["a good film", "the fox"]))
        >>> outputs["hidden_0"].shape, outputs["hidden_2"].shape
        (TensorShape([2, 5, 12]), TensorShape([2, 5, 12]))
    """
    parts = {weight.path.partition("/")[0] for weight in model.weights}
    names = {}
    for i in layers:
        name = f"layer_{i - 1}" if i else "flatten_tokens"
        is_last = name in parts and f"layer_{i}" not in parts
        if is_last and "final_layer_norm" in parts:
            name = "final_layer_norm"
        names[name] = f"hidden_{i}"
    return _with_outputs(model, names, lambda layer, output, *_, **__: output)


def with_attentions(model: keras.Model, layers: Iterable[int]) -> keras.Model:
    """Returns a network with more outputs: `attention_1`, `attention_2` ...

    `attention_1` has the attention probabilities of the first encoder layer,
    float32 [B, N, S, S]: for each head, how much each token attends to every
    token.

    Raises InputError if an encoder layer in `layers` is not one of the
    network's own layers. An embedder has no encoder layers of its own, because
    its encoder is a network inside the embedder.

    Example:
        >>> bert = keras_bert.load_pretrained("pretrained", max_seq_length=16)
        >>> network = keras_bert.models.with_attentions(bert.encoder, [2])
        >>> network(bert.preprocessor(["a good film"]))["attention_2"].shape
        TensorShape([1, 3, 5, 5])
    """
    names = _blocks(layers, "attention")
    own = {layer.name for layer in model.layers}
    if missing := names.keys() - own:
        raise InputError(
            f"{model.name} has no {names[min(missing)]}; choose other layers, "
            "or the encoder itself."
        )
    read = _reading(AttentionProbabilities)
    return _with_outputs(model, names, read, of_tokens=False)


def with_attention_relations(
    model: keras.Model, layers: Iterable[int], num_relation_heads: int
) -> keras.Model:
    """Returns a network with more outputs: `relations_1`, `relations_2` ...

    `relations_1` has the relations of the first encoder layer; see
    `AttentionRelations`. The new outputs have the shape of `input_mask` with
    two more axes, such as float32 [B, S, 3 * R, S], where R is
    `num_relation_heads`.

    Raises InputError like `with_hidden_states`.
    """
    read = _reading(lambda block: AttentionRelations(block, num_relation_heads))
    return _with_outputs(model, _blocks(layers, "relations"), read)


def with_attention_scores(
    model: keras.Model, layers: Iterable[int]
) -> keras.Model:
    """Returns a network with more outputs: `scores_1`, `scores_2` ...

    `scores_1` has the scores of the first encoder layer; see
    `AttentionScores`. The new outputs have the shape of `input_mask` with two
    more axes, such as float32 [B, S, N, S].

    Raises InputError like `with_hidden_states`.
    """
    read = _reading(AttentionScores)
    return _with_outputs(model, _blocks(layers, "scores"), read)


def can_pack(model: keras.Model) -> bool:
    """Returns whether a network can read several texts packed into a row.

    A network can do so if every path from an input to an output passes through
    a pooling layer, all layers before the pooling keep the texts of a row
    apart, and all layers after it are known to compute each vector on its own.
    """
    inputs = _new_inputs(model)
    tokens = list(inputs.values())
    vectors: list[keras.KerasTensor] = []

    def call(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        outputs = layer(*args, **kwargs)
        read = keras.tree.flatten((args, kwargs))
        if isinstance(layer, _POOLINGS):
            if len(args) > 1 and _all_in(args[:2], tokens):
                vectors.append(outputs)
        elif isinstance(layer, _KEEP_APART):
            if _all_in(read, tokens):
                tokens.extend(keras.tree.flatten(outputs))
        elif _is_of_a_vector(layer) and _all_in(read, vectors):
            vectors.extend(keras.tree.flatten(outputs))
        return outputs

    outputs = _call_layers(model, inputs, call).output
    return _all_in(keras.tree.flatten(outputs), vectors)


def _is_of_a_vector(layer: keras.layers.Layer) -> bool:
    activation = getattr(layer, "activation", None)
    name = getattr(activation, "__name__", "")
    return (
        type(layer).__name__ in _OF_A_VECTOR
        and type(layer).__module__.startswith(("keras.", "keras_bert."))
        and getattr(layer, "axis", -1) == -1
        and activation in (None, getattr(keras.activations, name, None))
    )


def with_packed_rows(model: keras.Model) -> keras.Model:
    """Returns a network of the same layers that reads several texts per row.

    A text attends only to itself, so its outputs are the same as in a row of
    its own, except for rounding: numbers may be added in a different order.

    Inputs: the model's, int32 [R, S], where `input_mask` numbers the K texts of
    a row from 1. Outputs: the model's, such as `logits` [R, K, L].

    Args:
        model: A network for which `can_pack` is true.

    Example:
        >>> from keras_bert.models.rewired import with_packed_rows
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_classifier(config, num_labels=3)
        >>> ids = np.array([[2, 5, 3, 2, 9, 8, 3]])
        >>> mask = np.array([[1, 1, 1, 2, 2, 2, 2]])
        >>> features = {"input_ids": ids, "input_mask": mask}
        >>> features["segment_ids"] = ids * 0
        >>> with_packed_rows(model)(features)["logits"].shape
        TensorShape([1, 2, 3])
    """
    inputs = _new_inputs(model)
    row_positions = RowPositions(name="row_positions")
    position_ids, cls_positions = row_positions(inputs["input_mask"])

    def call(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        if isinstance(layer, BertEmbeddings):
            return layer(*args[:2], position_ids)
        if isinstance(layer, EncoderBlock):
            return layer(*args, packed=True)
        if isinstance(layer, _POOLINGS):
            return layer(*args[:2], cls_positions)
        return layer(*args, **kwargs)

    return _call_layers(model, inputs, call)


def _blocks(layers: Iterable[int], prefix: str) -> dict[str, str]:
    """Returns block names -> output names, such as `layer_0` -> `prefix_1`."""
    return {f"layer_{i - 1}": f"{prefix}_{i}" for i in layers}


def _reading(make: Callable[[EncoderBlock], keras.layers.Layer]) -> Callable:
    """Returns a `read` for `_tapped` that calls the layer `make(block)`."""
    return lambda block, output, *args, **kwargs: make(block)(*args, **kwargs)


def _with_outputs(
    model: keras.Model,
    names: dict[str, str],
    read: Callable,
    *,
    of_tokens: bool = True,
) -> keras.Model:
    """Returns a network whose outputs include what `read` computes at layers.

    `names` maps the name of each layer to the name of the new output; see
    `_tapped` for `read`. With `of_tokens`, new outputs [T, ...] become
    [B, S, ...].
    """
    tapped = _tapped(model, names, read)
    outputs, found = tapped.output
    if missing := names.keys() - found.keys():
        raise InputError(
            f"{model.name} has no {names[min(missing)]}; choose other layers, "
            "or a model that contains these layers."
        )
    readings = {name: found[layer] for layer, name in names.items()}
    if of_tokens:
        mask = tapped.input["input_mask"]
        readings = {
            name: UnflattenTokens(dtype=x.dtype, name=name)(x, mask)
            for name, x in readings.items()
        }
    return keras.Model(tapped.input, outputs | readings, name=model.name)


def _tapped(
    model: keras.Model, names: Collection[str], read: Callable
) -> keras.Model:
    """Returns a network with two outputs: the model's, and a dict of tensors.

    The dict has a tensor for each layer with one of the `names`: `read` takes
    the layer, its output and its inputs, and returns the tensor. The layer may
    be in a network inside the model, such as the network for one row.
    """
    inputs, found = _new_inputs(model), {}

    def call(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        if isinstance(layer, keras.Model) and isinstance(layer.input, dict):
            outputs, inner = _tapped(layer, names, read)(*args, **kwargs)
            found.update(inner)
            return outputs
        output = layer(*args, **kwargs)
        if layer.name in names:
            found[layer.name] = read(layer, output, *args, **kwargs)
        return output

    outer = _call_layers(model, inputs, call)
    return keras.Model(inputs, (outer.output, found))


def _all_in(values: Any, found: Any) -> bool:
    """Returns whether all tensors in `values` are in `found`."""
    known = {id(x) for x in found}
    return all(
        id(x) in known for x in values if isinstance(x, keras.KerasTensor)
    )


def _new_inputs(model: keras.Model) -> dict[str, keras.KerasTensor]:
    """Returns new inputs with the shapes and dtypes of a model's, by name."""
    return {
        name: keras.Input(x.shape[1:], dtype=x.dtype, name=name)
        for name, x in model.input.items()
    }


def _call_layers(
    model: keras.Model, inputs: dict[str, keras.KerasTensor], call: Callable
) -> keras.Model:
    """Returns a model with the same layers.

    `call` takes a layer and its inputs, and returns the layer's output.
    """
    return keras.models.clone_model(
        model, inputs, clone_function=lambda layer: layer, call_function=call
    )
