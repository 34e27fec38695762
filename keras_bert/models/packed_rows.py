"""A network that takes a text a row -> one whose rows hold several texts."""

import keras

from keras_bert.layers.embeddings import BertEmbeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.pooler import Pooler
from keras_bert.layers.reshaping import FlattenTokens, UnflattenTokens
from keras_bert.layers.sequences import RowPositions, SequencePooling
from keras_bert.models.hidden_states import call_layers, new_inputs

_POOLINGS = Pooler, SequencePooling
_KEEP_APART = BertEmbeddings, FlattenTokens, EncoderBlock, UnflattenTokens


def can_pack(model: keras.Model) -> bool:
    """Returns whether every way from an input to an output has a pooling.

    And before it only layers that keep the texts of a row apart.
    """
    inputs = new_inputs(model)
    tokens = list(inputs.values())
    vectors: list[keras.KerasTensor] = []

    def call(layer, *args, **kwargs):
        outputs = layer(*args, **kwargs)
        read = keras.tree.flatten((args, kwargs))
        if isinstance(layer, _POOLINGS):
            if len(args) > 1 and _all_in(args[:2], tokens):
                vectors.append(outputs)
        elif isinstance(layer, _KEEP_APART):
            if _all_in(read, tokens):
                tokens.extend(keras.tree.flatten(outputs))
        elif _all_in(read, vectors):
            vectors.extend(keras.tree.flatten(outputs))
        return outputs

    outputs = call_layers(model, inputs, call).output
    return _all_in(keras.tree.flatten(outputs), vectors)


def with_packed_rows(model: keras.Model) -> keras.Model:
    """Makes a network of the same layers in which a row holds several texts.

    A text attends to itself only, so its outputs are the same as in a row of
    its own, but for the order of sums.

    Inputs: the model's, int32 [R, S], where `input_mask` numbers the K texts of
    a row from 1. Outputs: the model's, such as `logits` [R, K, L].

    Args:
        model: A network for which `can_pack` is true.

    Example:
        >>> from keras_bert.models.packed_rows import with_packed_rows
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_classifier(config, num_labels=3)
        >>> ids = np.array([[2, 5, 3, 2, 9, 8, 3]])
        >>> mask = np.array([[1, 1, 1, 2, 2, 2, 2]])
        >>> features = {"input_ids": ids, "input_mask": mask}
        >>> features["segment_ids"] = ids * 0
        >>> with_packed_rows(model)(features)["logits"].shape
        TensorShape([1, 2, 3])
    """
    inputs = new_inputs(model)
    position_ids, cls_positions = RowPositions(name="row_positions")(
        inputs["input_mask"]
    )

    def call(layer, *args, **kwargs):
        if isinstance(layer, BertEmbeddings):
            return layer(*args[:2], position_ids)
        if isinstance(layer, EncoderBlock):
            return layer(*args, packed=True)
        if isinstance(layer, _POOLINGS):
            return layer(*args[:2], cls_positions)
        return layer(*args, **kwargs)

    return call_layers(model, inputs, call)


def _all_in(values, found):
    """Returns whether all tensors among the values are among those found."""
    known = {id(x) for x in found}
    return all(
        id(x) in known for x in values if isinstance(x, keras.KerasTensor)
    )
