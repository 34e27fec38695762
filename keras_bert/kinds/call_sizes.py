"""Which examples go into one call of a network, by TensorFlow or NumPy."""

from typing import Any

# A call takes about the time of this many tokens beside its own.
_TOKENS_OF_A_CALL = 64


def fits_a_call(padded: Any, tokens: Any, limit: int) -> Any:
    """Returns whether the padding costs less than another call would.

    `padded` and `tokens` are the numbers of tokens in a call with padding and
    without it: numbers, arrays or tensors. With padding, a call has at most
    `limit` tokens.
    """
    lost = padded - tokens
    return (padded <= limit) & (lost <= _TOKENS_OF_A_CALL + padded // 8)
