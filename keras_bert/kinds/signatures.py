"""The functions of a SavedModel."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import tensorflow as tf
from tensorflow.saved_model import PREDICT_METHOD_NAME

from keras_bert.kinds.network_calls import NUM_WINDOWS

Call = Callable[..., dict[str, tf.Tensor]]
_ID_NAMES = ("input_ids", "input_mask", "segment_ids")


class Signature(NamedTuple):
    """A function of a SavedModel.

    Attributes:
        function: A function of tensors that returns a dict of tensors. Outputs
            such as "entities.type" and "entities.text" [B, E] are the fields of
            a list of objects for each row, padded with "" or 0.
        inputs: The specifications of the function's arguments, including their
            names.
        by_label: The outputs whose last axis has an entry for each label.
        method: The name of the TensorFlow Serving API that calls the function.
            If this is Classify or Regress, the SavedModel's function takes
            serialized tf.Examples that contain the inputs.

    Example:
        >>> kind = keras_bert.load_finetuned("finetuned").kind
        >>> signature = keras_bert.kinds.Signature(
        ...     lambda sentence: {"size": tf.strings.length(sentence)},
        ...     kind.string_inputs(),
        ... )
        >>> signature.function(tf.constant(["a film"]))["size"].numpy()
        array([6], dtype=int32)
    """

    function: Call
    inputs: Sequence[tf.TensorSpec]
    by_label: tuple[str, ...] = ()
    method: str = PREDICT_METHOD_NAME


def one_graph(function: Call, inputs: Sequence[tf.TensorSpec]) -> Call:
    """Returns the function with a graph of its own.

    All signatures that call the returned function share this graph, which is
    traced and saved only once.
    """
    return tf.function(function, input_signature=inputs, autograph=False)


def id_signature(model: keras.Model) -> Signature:
    """Returns the signature of a network that takes ids.

    The ids are int32 [B, S], or [B, R, S] for texts in windows or for choices.
    Empty windows come after all other windows of their text.
    """

    def call(*ids: tf.Tensor) -> dict[str, tf.Tensor]:
        features = dict(zip(_ID_NAMES, ids, strict=True))
        input_ids, input_mask, _ = ids
        if "cls_positions" in model.input:  # each row has one text
            shape = tf.shape(input_ids)
            positions = tf.broadcast_to(tf.range(shape[2]), shape)
            features["position_ids"] = positions
            features["cls_positions"] = tf.zeros_like(input_ids[:, :, :1])
        if NUM_WINDOWS in model.input:  # all rows are windows of one text
            is_window = tf.cast(tf.reduce_any(input_mask > 0, -1), tf.int32)
            counts = tf.reduce_sum(is_window, axis=1, keepdims=True)
            features[NUM_WINDOWS] = tf.maximum(counts, 1)  # [B, 1]
        return model(features)

    shape = [None] * len(model.input["input_ids"].shape)
    inputs = [tf.TensorSpec(shape, tf.int32, name) for name in _ID_NAMES]
    return Signature(call, inputs)
