"""The pieces of words, and loops that collect them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert.text.text_ops import begins_row


class Pieces(NamedTuple):
    """The pieces of words, ragged [W, (pieces)].

    Attributes:
        ids: The ids of the pieces, int32.
        ends: The byte offset in the word at which each piece ends, int32.
    """

    ids: tf.RaggedTensor
    ends: tf.RaggedTensor

    @property
    def starts(self) -> tf.RaggedTensor:
        """The byte offset in the word at which each piece begins, int32."""
        is_first = begins_row(self.ends.value_rowids())
        before = tf.roll(self.ends.values, 1, 0)
        return self.ends.with_values(tf.where(is_first, 0, before))

    @classmethod
    def of_rows(
        cls, words: tf.Tensor, rows: tf.Tensor, ids: tf.Tensor, ends: tf.Tensor
    ) -> "Pieces":
        """Returns pieces from flat ids and ends.

        `rows` is the index of each piece's word.
        """
        return cls(
            *(
                tf.RaggedTensor.from_value_rowids(
                    tf.cast(x, tf.int32),
                    tf.cast(rows, tf.int64),
                    tf.size(words, tf.int64),
                    validate=False,
                )
                for x in (ids, ends)
            )
        )


def fill_lists(
    number: int, step: Callable[..., tuple], values: Sequence[Any]
) -> list[tf.Tensor]:
    """Runs a loop that fills lists; returns each list's content, int32 [N].

    The loop runs until the first of the `values` is empty. A `step` takes the
    values. It returns new values, and what to append to each of the `number`
    lists.
    """
    # A graph with a tf.TensorArray would have an attribute that TensorFlow 2.12
    # lacks.
    empty = tf.raw_ops.EmptyTensorList(
        element_shape=[-1], max_num_elements=-1, element_dtype=tf.int32
    )

    def push(numbers: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.TensorListPushBack(
            input_handle=numbers, tensor=tf.cast(values, tf.int32)
        )

    def run_step(values: list, lists: list) -> tuple[list, list]:
        values, added = step(*values)
        return [*values], [*map(push, lists, added)]

    values = [tf.convert_to_tensor(x) for x in values]
    shapes = [tf.TensorShape([None] * x.shape.rank) for x in values]
    _, filled = tf.while_loop(
        lambda values, _: tf.size(values[0]) > 0,
        run_step,
        (values, [push(empty, [])] * number),
        shape_invariants=(shapes, [tf.TensorShape(None)] * number),
        parallel_iterations=1,
    )
    return [
        tf.raw_ops.TensorListConcatV2(
            input_handle=x,
            element_shape=[-1],
            leading_dims=tf.zeros([0], tf.int64),
            element_dtype=tf.int32,
        ).tensor
        for x in filled
    ]
