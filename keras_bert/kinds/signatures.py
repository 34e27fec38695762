"""The functions of a SavedModel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import tensorflow as tf
from tensorflow.saved_model import (
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    PREDICT_METHOD_NAME,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)


class Signature(NamedTuple):
    """A function of a SavedModel.

    Attributes:
        function: Takes tensors and returns a dict of tensors. Outputs such as
            "entities.type" and "entities.text" [B, E] are the fields of a list
            of objects for each row, padded with "" or 0.
        inputs: The specifications of the tensors, with their names.
        by_label: The outputs whose last axis has an entry for each label.
        method: The API of TensorFlow Serving that calls it. If this is Classify
            or Regress, the SavedModel's function takes serialized
            tf.Examples with the inputs.

    Example:
        >>> kind = keras_bert.load_finetuned("finetuned").kind
        >>> signature = keras_bert.kinds.Signature(
        ...     lambda sentence: {"size": tf.strings.length(sentence)},
        ...     kind.string_inputs(),
        ... )
        >>> signature.function(tf.constant(["a film"]))["size"].numpy()
        array([6], dtype=int32)
    """

    function: Callable[..., dict[str, tf.Tensor]]
    inputs: Sequence[tf.TensorSpec]
    by_label: tuple[str, ...] = ()
    method: str = PREDICT_METHOD_NAME


def one_graph(
    function: Callable[..., dict[str, tf.Tensor]],
    inputs: Sequence[tf.TensorSpec],
) -> Callable[..., dict[str, tf.Tensor]]:
    """Returns the function with a graph of its own.

    All signatures that call it have this graph, traced and saved once.
    """
    return tf.function(function, input_signature=inputs, autograph=False)


def classify_signature(
    answer: Callable[..., dict[str, tf.Tensor]],
    inputs: Sequence[tf.TensorSpec],
    labels: Sequence[str],
) -> Signature:
    """Returns the signature for the Classify API.

    `answer` returns `scores` [B, L]. The signature returns `classes`, the
    labels, and `scores`, both [B, L].
    """

    def classify(*texts):
        scores = answer(*texts)["scores"]
        classes = tf.broadcast_to(tf.constant(labels), tf.shape(scores))
        return {
            CLASSIFY_OUTPUT_CLASSES: classes,
            CLASSIFY_OUTPUT_SCORES: scores,
        }

    return Signature(classify, inputs, method=CLASSIFY_METHOD_NAME)


def regress_signature(
    answer: Callable[..., dict[str, tf.Tensor]],
    inputs: Sequence[tf.TensorSpec],
) -> Signature:
    """Returns the signature for the Regress API; `answer` returns `score`."""

    def regress(*texts):
        return {REGRESS_OUTPUTS: answer(*texts)["score"]}

    return Signature(regress, inputs, method=REGRESS_METHOD_NAME)


def id_signature(model: keras.Model) -> Signature:
    """Returns the signature of a network that takes ids.

    They are int32 [B, S], or [B, W, S] for texts in windows.
    """

    def call(input_ids, input_mask, segment_ids):
        return model(
            {
                "input_ids": input_ids,
                "input_mask": input_mask,
                "segment_ids": segment_ids,
            }
        )

    shape = model.input["input_ids"].shape
    return Signature(call, id_inputs([None] * len(shape)))


def id_inputs(shape: Sequence[int | None]) -> list[tf.TensorSpec]:
    """Returns the specifications of the network's inputs, in their order."""
    return [
        tf.TensorSpec(shape, tf.int32, name)
        for name in ("input_ids", "input_mask", "segment_ids")
    ]


def one_text_a_row(
    input_ids: tf.Tensor, input_mask: tf.Tensor, segment_ids: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Ids [B, R, S] -> the inputs of a packed network, one text in each row."""
    shape = tf.shape(input_ids)
    return {
        "input_ids": input_ids,
        "input_mask": input_mask,
        "segment_ids": segment_ids,
        "position_ids": tf.broadcast_to(tf.range(shape[2]), shape),
        "cls_positions": tf.zeros_like(input_ids[:, :, :1]),
    }
