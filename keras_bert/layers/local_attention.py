"""Attention to nearby tokens, in time linear in the length of the row."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops


def attend_locally(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    *,
    reach: int,
    dropout: Callable[[Any], Any],
    packed: bool = False,
    left_to_right: bool = False,
) -> Any:
    """Attends to the tokens that are at most `reach` positions away.

    The row is cut into blocks of `reach` tokens. A block attends to itself and
    to one block on each side, so 3 * reach scores per token are computed
    instead of S.

    Args:
        query: Scaled queries [B, N, S, D].
        key: Keys [B, N, S, D].
        value: Values [B, N, S, D].
        mask: The input mask, int [B, S].
        reach: The number of tokens on each side.
        dropout: The function that is applied to the probabilities.
        packed: See `mask_adder`.
        left_to_right: See `mask_adder`.

    Returns:
        The weighted sums of the values, [B, N, S, D].
    """
    length = ops.shape(mask)[1]
    num_blocks = (length + reach - 1) // reach
    end = num_blocks * reach - length
    sizes = (-1, num_blocks, reach)

    def blocks(x: Any) -> Any:  # [B, N, S, D] -> [B, N, K, reach, D]
        x = ops.pad(x, [[0, 0], [0, 0], [0, end], [0, 0]])
        return ops.reshape(x, (-1, x.shape[1], *sizes[1:], x.shape[3]))

    def with_neighbours(x: Any, axis: int) -> Any:
        """Joins each block to the blocks before and after it, or to zeros."""
        pad = [[0, 0]] * len(x.shape)
        pad[axis] = [1, 1]
        x = ops.pad(x, pad)
        index = (slice(None),) * axis
        parts = slice(0, -2), slice(1, -1), slice(2, None)
        return ops.concatenate([x[(*index, y)] for y in parts], axis=axis + 1)

    rows = ops.reshape(ops.pad(mask, [[0, 0], [0, end]]), sizes)  # [B, K, r]
    columns = with_neighbours(rows, 1)  # [B, K, 3r]
    places = np.arange(reach) + reach, np.arange(3 * reach)
    adder = mask_adder(
        rows,
        columns,
        *places,
        packed=packed,
        left_to_right=left_to_right,
        reach=reach,
    )
    query, key, value = map(blocks, (query, key, value))
    key, value = with_neighbours(key, 2), with_neighbours(value, 2)
    scores = ops.matmul(query, ops.swapaxes(key, -1, -2))
    scores = ops.cast(scores, "float32") + ops.expand_dims(adder, 1)
    probs = dropout(ops.cast(ops.softmax(scores), query.dtype))
    context = ops.matmul(probs, value)  # [B, N, K, reach, D]
    shape = (-1, context.shape[1], num_blocks * reach, context.shape[4])
    return ops.reshape(context, shape)[:, :, :length]


def mask_adder(
    rows: Any,
    columns: Any,
    row_places: Any,
    column_places: Any,
    *,
    packed: bool = False,
    left_to_right: bool = False,
    reach: int | None = None,
) -> Any:
    """Returns 0 where attention is allowed and -10000 elsewhere.

    The result is added to the scores, as in google-research/bert, so that the
    outputs are the same as there even for a row without tokens.

    Args:
        rows: The mask of the tokens that attend, [..., S].
        columns: The mask of the tokens attended to, [..., T].
        row_places: The positions of the tokens that attend, [S].
        column_places: The positions of the tokens attended to, [T].
        packed: Whether a row contains several sequences, whose numbers are in
            the mask. Each sequence then attends only to itself.
        left_to_right: Whether a token attends to no later token.
        reach: The largest distance over which a token attends to another;
            None for any distance.

    Returns:
        float32 [..., S, T], or [..., 1, T] if all tokens attend to the same
        tokens.
    """
    # LiteRT does not support an index with new axes.
    columns = ops.expand_dims(columns, -2)
    if packed:
        # Padding is one more sequence, with the number 0.
        allowed = ops.expand_dims(rows, -1) == columns
        allowed = ops.cast(allowed, "float32")
    else:
        allowed = ops.cast(columns, "float32")
    if left_to_right or reach is not None:
        distances = column_places[None, :] - row_places[:, None]
        is_near = distances <= 0 if left_to_right else distances <= reach
        if reach is not None:
            is_near &= distances >= -reach
        allowed = allowed * ops.cast(is_near, "float32")
    return (1.0 - allowed) * -10000.0
