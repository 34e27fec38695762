"""Which examples go into one call of a network, by TensorFlow or NumPy."""

from typing import Any

# A call takes about the time of this many tokens beside its own.
_TOKENS_OF_A_CALL = 64


def fits_a_call(padded: Any, tokens: Any, limit: int) -> Any:
    """Returns whether the padding costs less than another call would.

    Takes the number of tokens of some examples with padding, at most the
    limit, and without; or an array or a tensor of each.
    """
    lost = padded - tokens
    return (padded <= limit) & (lost <= _TOKENS_OF_A_CALL + padded // 8)
