"""Poolings: one vector from the vectors of all tokens.

Each function takes `x` [B, S, H] and `input_mask` [B, S], which is 0 at
padding, and returns [B, H]. Every row must have a token.
"""

from keras import ops


def cls_pooling(x, input_mask):
    """The first token, [CLS]."""
    return x[:, 0]


def mean_pooling(x, input_mask):
    """The mean of the tokens, computed in float32."""
    # In bfloat16, a sum of ones never gets over 256.
    weights = ops.cast(input_mask > 0, "float32")[:, :, None]
    total = ops.sum(ops.cast(x, "float32") * weights, axis=1)
    return ops.cast(total / ops.sum(weights, axis=1), x.dtype)


def max_pooling(x, input_mask):
    """The maximum of the tokens, by component."""
    return ops.max(
        ops.where(input_mask[:, :, None] > 0, x, float("-inf")), axis=1
    )
