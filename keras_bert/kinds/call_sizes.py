"""Decides which examples share a call of the network.

The functions work in TensorFlow and in NumPy.
"""

from typing import Any

# The overhead of a call takes about as long as this number of tokens.
_TOKENS_OF_A_CALL = 64


def fits_a_call(padded: Any, tokens: Any, limit: int) -> Any:
    """Returns whether examples should share a call despite the padding.

    `padded` and `tokens` count the tokens of a call with and without padding,
    as numbers, arrays or tensors. Examples share a call if it has at most
    `limit` tokens with padding, and if the padding costs less than another
    call.
    """
    lost = padded - tokens
    return (padded <= limit) & (lost <= _TOKENS_OF_A_CALL + padded // 8)
