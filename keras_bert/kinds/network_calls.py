"""Calls a network on many texts: several texts per row, few rows at a time."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_bert.kinds.call_sizes import fits_a_call
from keras_bert.models.rewired import can_pack, with_packed_rows
from keras_bert.text.packing import pad
from keras_bert.training.distribution import require_tensorflow

Tensors = dict[str, tf.Tensor | tf.RaggedTensor]

# The feature that says how many windows each text of an example has.
NUM_WINDOWS = "num_windows"
# Attention compares all tokens of a row, even tokens of different texts. In
# rows of up to this number of tokens, comparing different texts takes no more
# time than packing saves by less padding.
TOKENS_PER_ROW = 128
# The largest number of tokens, with padding, in a call of the network: 32
# windows of 512. A larger number is not faster on a CPU.
_TOKENS_PER_CALL = 16_384


def call_on_texts(model: keras.Model) -> Callable[[Tensors], Tensors]:
    """Returns a function that calls a network on any number of texts.

    The function takes ragged features [N, (tokens)], or [N, W, (tokens)] for
    texts in windows, and returns the outputs [N, ...]. If the network is a
    Keras model that pools the tokens of a text, short texts are packed into
    rows.
    """
    if not isinstance(model, keras.Model) or not can_pack(model):
        return lambda features: call_in_pieces(model, features)
    packed = with_packed_rows(model)

    def call(features: Tensors) -> Tensors:
        rows, places = pack_texts(features)
        rows = {name: rows[name] for name in packed.input}
        outputs = call_in_pieces(packed, rows)
        # Outputs of rows [R, K, ...] -> outputs of texts [N, ...].
        return {name: tf.gather_nd(x, places) for name, x in outputs.items()}

    return call


def call_in_pieces(
    model: keras.Model, features: Tensors, *, tokens_per_call: int | None = None
) -> dict[str, tf.Tensor]:
    """Returns a network's outputs for N examples, from calls of bounded size.

    Takes ragged features, [N, (tokens)] or [N, R, (tokens)]. N may be unknown,
    as it is in the graph of a SavedModel. Each call gets examples of similar
    length, so that a short example is not padded to the length of the longest
    example. The outputs are [N, ...]; outputs per token are 0 beyond the
    longest example of a call.
    """
    if isinstance(model, keras.Model):
        require_tensorflow()
    limit = tokens_per_call or _TOKENS_PER_CALL
    sizes = features["input_ids"].row_lengths(axis=-1)
    if isinstance(sizes, tf.RaggedTensor):
        sizes = tf.reduce_max(sizes, axis=-1) * sizes.row_lengths()
    order = tf.argsort(sizes, direction="DESCENDING", stable=True)
    sizes = tf.gather(sizes, order)
    features = {name: tf.gather(x, order) for name, x in features.items()}
    bounds = _bounds_of_calls(sizes, limit)
    num_calls = tf.size(bounds) - 1
    arrays = {
        name: tf.TensorArray(
            x.dtype, num_calls, infer_shape=False, element_shape=x.shape
        )
        for name, x in model.output.items()
    }

    def call(
        i: tf.Tensor, widths: Tensors, arrays: dict[str, tf.TensorArray]
    ) -> tuple:
        of_call = slice(bounds[i], bounds[i + 1])
        outputs = model(pad({n: x[of_call] for n, x in features.items()}))
        for name, x in outputs.items():
            if x.shape.rank > 1:  # The first call has the most tokens.
                width = tf.shape(x)[1]
                widths[name] = tf.maximum(widths[name], width)
                others = [[0, 0]] * (x.shape.rank - 2)
                x = tf.pad(x, [[0, 0], [0, widths[name] - width], *others])
            arrays[name] = arrays[name].write(i, x)
        return i + 1, widths, arrays

    *_, arrays = tf.while_loop(
        lambda i, *_: i < num_calls,
        call,
        (tf.constant(0), dict.fromkeys(arrays, tf.constant(0)), arrays),
        parallel_iterations=1,
    )
    back = tf.argsort(order)
    return {name: tf.gather(x.concat(), back) for name, x in arrays.items()}


def _bounds_of_calls(sizes: tf.Tensor, limit: int) -> tf.Tensor:
    """Returns where each call begins, and where the last call ends, as indices.

    Takes the token counts of the examples, largest first. Without examples,
    there is one call.
    """
    num_examples = tf.size(sizes, tf.int64)

    def add_call(bounds: tf.Tensor) -> list[tf.Tensor]:
        rest = sizes[bounds[-1] :]
        numbers = tf.range(1, tf.size(rest, tf.int64) + 1)
        padded = tf.reduce_max(rest) * numbers
        fit = fits_a_call(padded, tf.cumsum(rest), limit)
        number = tf.maximum(tf.reduce_max(tf.where(fit, numbers, 1)), 1)
        return [tf.concat([bounds, bounds[-1:] + number], axis=0)]

    (bounds,) = tf.while_loop(
        lambda bounds: (tf.size(bounds) == 1) | (bounds[-1] < num_examples),
        add_call,
        [tf.zeros([1], tf.int64)],
        shape_invariants=[tf.TensorShape([None])],
        parallel_iterations=1,
    )
    return bounds


def pack_rows(texts: Tensors, counts: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
    """Packs the first counts[0] texts into the first row, and so on for R rows.

    Takes `input_ids` and `segment_ids` [N, (tokens)], and the number of texts
    of each row, int64 [R], up to K. Returns the inputs of a packed encoder:

        input_ids, segment_ids: int32 [R, (tokens)], one text after the other.
        input_mask: int32 [R, (tokens)], the index of a token's text in its row,
            counted so that the last text of each row has the index K.
        position_ids: int32 [R, (tokens)], from 0 in each text.
        cls_positions: int32 [R, K], the position of each text's first token.

    Also returns int64 [N, 2]: the row of each text, and its position in the
    row.
    """
    lengths = texts["input_ids"].row_lengths()  # [N]
    most = tf.maximum(tf.reduce_max(counts), 0)  # K, 0 without a row
    numbers = tf.ragged.range(most - counts + 1, most + 1)  # [R, (texts)]
    num_tokens = tf.reduce_sum(numbers.with_values(lengths), axis=1)  # [R]
    row_starts = tf.repeat(tf.cumsum(num_tokens, exclusive=True), counts)
    begins = tf.cumsum(lengths, exclusive=True) - row_starts
    tokens = {name: x.flat_values for name, x in texts.items()} | {
        "input_mask": tf.repeat(numbers.values, lengths),
        "position_ids": tf.ragged.range(lengths).flat_values,
    }
    rows = {
        name: tf.RaggedTensor.from_row_lengths(
            tf.cast(x, tf.int32), num_tokens, validate=False
        )
        for name, x in tokens.items()
    }
    shape = tf.stack([tf.size(counts, tf.int64), most])
    places = tf.stack([numbers.value_rowids(), numbers.values - 1], axis=1)
    rows["cls_positions"] = tf.scatter_nd(
        places, tf.cast(begins, tf.int32), shape
    )
    return rows, places


def group_texts(texts: Tensors, num_texts: int) -> Tensors:
    """Joins each C successive texts into one example.

    [B*C, (tokens)] becomes [B, C, (tokens)].

    The windows of texts, [B*C, (W), (tokens)] as `pack` returns them, become
    the inputs of `build_embedder(window_pooling=...)`: [B, (M), (tokens)],
    and `num_windows`, int32 [B, C], the number of windows of each text.
    """
    input_ids = texts["input_ids"]
    if input_ids.ragged_rank == 1:
        return {
            name: tf.RaggedTensor.from_uniform_row_length(x, num_texts)
            for name, x in texts.items()
        }
    counts = tf.reshape(input_ids.row_lengths(), [-1, num_texts])  # [B, C]
    joined: Tensors = {
        name: tf.RaggedTensor.from_row_lengths(
            x.values, tf.reduce_sum(counts, axis=1), validate=False
        )
        for name, x in texts.items()
    }
    return joined | {NUM_WINDOWS: tf.cast(counts, tf.int32)}


def choices_fit(num_tokens: Any, num_examples: Any) -> Any:
    """Returns whether all choices of an example fit into one row.

    They fit if the rows then have at most 128 tokens on average.
    """
    return num_tokens <= TOKENS_PER_ROW * num_examples


def pack_choices(
    choices: Tensors, num_choices: int | tf.Tensor, packed: bool | None = None
) -> Tensors:
    """Packs the C choices of an example into one row if they are short.

    Otherwise, each choice gets a row of its own, and the batch [B, C, S] is
    padded to its longest choice. `packed` says whether one row holds all
    choices of an example; it must be the same for all batches of a data set.
    With None, `choices_fit` decides for these examples.

    Takes `input_ids` and `segment_ids` [B*C, (tokens)]. Returns the tensors of
    `pack_rows` as [B, R, (tokens)] and [B, R, K], the inputs of
    `build_multiple_choice(packed=True)`, where K is C or 1, and R * K = C.
    """
    num_choices = tf.cast(num_choices, tf.int64)
    lengths = choices["input_ids"].row_lengths()  # [B*C]
    num_examples = tf.size(lengths, tf.int64) // num_choices
    if packed is None:
        packed = choices_fit(tf.reduce_sum(lengths), num_examples)
    row_size = tf.where(packed, num_choices, 1)  # K
    num_rows = num_choices // row_size  # R
    rows, _ = pack_rows(choices, tf.fill([num_examples * num_rows], row_size))
    return {
        name: tf.RaggedTensor.from_uniform_row_length(x, num_rows)
        for name, x in rows.items()
    }


def pack_texts(texts: Tensors) -> tuple[Tensors, tf.Tensor]:
    """Packs N texts into R rows of about the same length, up to K in each.

    The texts are taken in descending order of length. Each row gets one text;
    then each row gets another text, from the last row to the first; and so on.
    Rows are as long as the longest text, but at least 128 tokens, and a little
    longer if the texts do not fit together.

    Takes `input_ids` and `segment_ids` [N, (tokens)]. Returns the tensors of
    `pack_rows`, and the row and the position of each text, for `tf.gather_nd`.
    """
    lengths = texts["input_ids"].row_lengths()
    num_texts = tf.size(lengths, tf.int64)
    row_size = tf.maximum(tf.reduce_max(lengths), TOKENS_PER_ROW)
    num_rows = -(-tf.reduce_sum(lengths) // row_size)  # 0 without a text
    num_turns = tf.maximum(-(-num_texts // tf.maximum(num_rows, 1)), 1)  # K
    ranks = tf.reshape(tf.range(num_rows * num_turns), [num_turns, num_rows])
    is_odd = tf.range(num_turns)[:, None] % 2 == 1
    ranks = tf.where(is_odd, tf.reverse(ranks, [1]), ranks)
    ranks = tf.transpose(ranks)  # [R, K], by length
    is_text = ranks < num_texts
    by_length = tf.argsort(lengths, direction="DESCENDING", stable=True)
    order = tf.gather(by_length, tf.boolean_mask(ranks, is_text))  # [N]
    rows, places = pack_rows(
        {name: tf.gather(x, order) for name, x in texts.items()},
        tf.reduce_sum(tf.cast(is_text, tf.int64), axis=1),
    )
    return rows, tf.gather(places, tf.argsort(order))
