"""Which examples go into one call of a network, by TensorFlow or NumPy."""

from typing import Any

# The overhead of a call, as the number of tokens that take about as long.
_TOKENS_OF_A_CALL = 64


def fits_a_call(padded: Any, tokens: Any, limit: int) -> Any:
    """Returns whether the padding costs less than another call would.

    `padded` and `tokens` count the tokens of a call with and without padding,
    as numbers, arrays or tensors. With padding, a call has at most `limit`
    tokens.
    """
    lost = padded - tokens
    return (padded <= limit) & (lost <= _TOKENS_OF_A_CALL + padded // 8)
