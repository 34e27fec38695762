"""float32 weights <-> integers of 8 or 4 bits, with scales.

With 8 bits, a file has about a quarter of the bytes of a float32 file. A table
has one scale for each row, and a kernel has one scale for each unit. Vectors
such as biases stay as they are. With 8 bits, the scale is 1/127 of the largest
absolute value in its row or unit, so a rounded weight is off by at most half
the scale.

With 4 bits, a weight becomes one of 15 multiples of the scale, from -7 to 7.
Of several scales, the scale with the smallest error is chosen, so the largest
weights may be clipped. Two neighboring numbers of a row share a byte: the first
is in the lower four bits, and 8 is added to both.
"""

import re

import numpy as np

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError

# The scales of a weight are stored under the weight's path plus an ending. The
# ending shows the number of bits.
SCALES = (_SCALE, _SCALE_OF_4_BITS) = (".scale", ".scale_of_4_bits")
# The weights that may have 4 bits: the word embeddings and the feed-forward
# networks, which are most of the weights. Attention would lose more accuracy.
_MAY_HAVE_4_BITS = re.compile(
    r"word_embeddings$|layer_\d+/(intermediate|gate|output)/kernel$"
)
# The scales that are tried for 4 bits, as fractions of the largest scale.
_PARTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
# For a row of zeros.
_SMALLEST_SCALE = np.float32(1e-30)


def quantize(arrays: Arrays, *, bits: int = 8) -> Arrays:
    """Returns the weights with matrices rounded to integers, and their scales.

    Args:
        arrays: The weights, keyed by our weight paths.
        bits: 8 or 4. With 4, only the word embeddings and the feed-forward
            networks have 4 bits; all other matrices have 8.
    """
    stored: Arrays = {}
    for path, array in arrays.items():
        stored[path] = array
        if len(array.shape) == 2:
            values = array.read().astype("float32")
            axis = 0 if path.endswith("kernel") else 1
            # With 4 bits, two numbers of a row share a byte.
            is_even = values.shape[1] % 2 == 0
            if bits == 4 and is_even and _MAY_HAVE_4_BITS.search(path):
                ending, pair = _SCALE_OF_4_BITS, _in_4_bits(values, axis)
            else:
                ending, pair = _SCALE, round_to_bytes(values, axis)
            stored[path], stored[path + ending] = map(_stored, pair)
    return stored


def dequantize(stored: Arrays, source: str) -> Arrays:
    """Returns float32 weights from rounded numbers and their scales.

    Raises InputError if a scale does not fit an array.
    """
    arrays = {x: y for x, y in stored.items() if not x.endswith(SCALES)}
    for name in stored.keys() - arrays.keys():
        path, _, bits = name.rpartition(".scale")
        numbers, scale = arrays.get(path), stored[name]
        if numbers and bits and len(numbers.shape) == 2:
            numbers = _unpacked(numbers)
        shape = numbers.shape if numbers else ()
        fitting = [(*shape[:1], 1), (1, *shape[1:])]
        if not numbers or len(shape) != 2 or scale.shape not in fitting:
            raise InputError(
                f"{source} has {name} of shape {scale.shape}, but no "
                f"{path} of a matching shape; copy the file again."
            )
        arrays[path] = _expanded(numbers, scale)
    return arrays


def round_to_bytes(
    values: np.ndarray, axis: int, largest: int = 127
) -> tuple[np.ndarray, np.ndarray]:
    """Returns integers from -`largest` to `largest`, int8, and their scales."""
    scale = np.abs(values).max(axis, keepdims=True) / np.float32(largest)
    scale = np.maximum(scale, _SMALLEST_SCALE)
    return np.rint(values / scale).astype("int8"), scale


def _in_4_bits(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    largest = np.abs(values).max(axis, keepdims=True)
    best = np.maximum(largest / 7, _SMALLEST_SCALE)
    least = np.full_like(best, np.inf)
    for part in _PARTS:
        scale = np.maximum(part * largest / 7, _SMALLEST_SCALE)
        difference = _rounded(values, scale) * scale - values
        error = np.square(difference).sum(axis, keepdims=True)
        best = np.where(error < least, scale, best)
        least = np.minimum(error, least)
    numbers = (_rounded(values, best) + 8).astype("uint8")
    return numbers[:, ::2] | numbers[:, 1::2] << 4, best


def _rounded(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values / scale), -7, 7)


def _stored(array: np.ndarray) -> StoredArray:
    return StoredArray(array.shape, lambda: array)


def _unpacked(array: StoredArray) -> StoredArray:
    def read() -> np.ndarray:
        pairs = array.read()
        numbers = np.stack([pairs & 15, pairs >> 4], axis=-1)
        return numbers.reshape(shape).astype("int8") - 8

    rows, num_pairs = array.shape
    shape = (rows, 2 * num_pairs)
    return StoredArray(shape, read)


def _expanded(array: StoredArray, scale: StoredArray) -> StoredArray:
    return StoredArray(array.shape, lambda: array.read() * scale.read())
