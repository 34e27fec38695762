"""The functions of a SavedModel."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import tensorflow as tf
from tensorflow.saved_model import PREDICT_METHOD_NAME

Call = Callable[..., dict[str, tf.Tensor]]
_ID_NAMES = ("input_ids", "input_mask", "segment_ids")


class Signature(NamedTuple):
    """A function of a SavedModel.

    Attributes:
        function: A function of tensors that returns a dict of tensors. Outputs
            such as "entities.type" and "entities.text" [B, E] are the fields of
            a list of objects for each row, padded with "" or 0.
        inputs: The specifications of the function's arguments, with their
            names.
        by_label: The outputs whose last axis has an entry for each label.
        method: The name of the TensorFlow Serving API that calls the function.
            If this is Classify or Regress, the SavedModel's function takes
            serialized tf.Examples with the inputs.

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

    All signatures that call it share this graph, which is traced and saved
    once.
    """
    return tf.function(function, input_signature=inputs, autograph=False)


def id_signature(model: keras.Model) -> Signature:
    """Returns the signature of a network that takes ids.

    The ids are int32 [B, S], or [B, R, S] for texts in windows or for choices.
    """

    def call(*ids: tf.Tensor) -> dict[str, tf.Tensor]:
        features = name_ids(*ids)
        if "cls_positions" in model.input:
            features = one_text_a_row(features)
        return model(features)

    inputs = id_inputs(len(model.input["input_ids"].shape))
    return Signature(call, inputs)


def id_inputs(rank: int) -> list[tf.TensorSpec]:
    """Returns the specifications of the network's inputs, in order."""
    return [tf.TensorSpec([None] * rank, tf.int32, x) for x in _ID_NAMES]


def name_ids(*ids: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the arguments of a signature with `id_inputs`, by name."""
    return dict(zip(_ID_NAMES, ids, strict=True))


def one_text_a_row(features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Returns packed inputs for ids [B, R, S], with one text in each row."""
    input_ids = features["input_ids"]
    shape = tf.shape(input_ids)
    return features | {
        "position_ids": tf.broadcast_to(tf.range(shape[2]), shape),
        "cls_positions": tf.zeros_like(input_ids[:, :, :1]),
    }
