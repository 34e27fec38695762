"""Weights <-> numbers of 8 or 4 bits with scales: a quarter of the bytes.

A table has one scale for each row, and a kernel one for each unit; vectors such
as biases stay as they are. With 8 bits, the largest number of a row is 127
scales, and a number is off by half a scale at most.

A row of 4 bits has 15 values, from -7 to 7 scales. The scale is the one with
the smallest error, and the largest numbers of the row may be cut. Two numbers
share a byte: the first one has the lower bits, and 8 is added to both.
"""

from collections.abc import Mapping

import numpy as np

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError

# The scales are beside the weight of a path, under the path and an ending that
# tells the number of bits.
SCALES = (_SCALE, _SCALE_OF_4_BITS) = (".scale", ".scale_of_4_bits")
# The scales that are tried for a row of 4 bits, in parts of the largest one.
_PARTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_SMALLEST_SCALE = np.float32(1e-30)


def round_arrays(
    arrays: Mapping[str, StoredArray], *, bits_of_words: int = 8
) -> Arrays:
    """Rounds matrices, and adds their scales; see `expand_rounded`.

    Args:
        arrays: Weights under the paths of the network.
        bits_of_words: 8 or 4, for the table of word embeddings; all else has 8.
    """
    stored: Arrays = {}
    for path, array in arrays.items():
        stored[path] = array
        if len(array.shape) == 2:
            values = array.read().astype("float32")
            is_words = path.endswith("word_embeddings")
            # Two numbers of a row share a byte.
            if is_words and bits_of_words == 4 and values.shape[1] % 2 == 0:
                ending, (rounded, scale) = _SCALE_OF_4_BITS, _in_4_bits(values)
            else:
                is_kernel = path.endswith("kernel")
                ending, (rounded, scale) = _SCALE, _in_8_bits(values, is_kernel)
            stored[path] = _stored(rounded)
            stored[path + ending] = _stored(scale)
    return stored


def expand_rounded(stored: Mapping[str, StoredArray], source: str) -> Arrays:
    """Returns float32 in place of rounded numbers and their scales.

    Raises InputError if a scale fits no array.
    """
    arrays = {x: y for x, y in stored.items() if not x.endswith(SCALES)}
    for name in stored.keys() - arrays.keys():
        path, _, bits = name.rpartition(".scale")
        shape = stored[path].shape if path in arrays else ()
        sizes = stored[name].shape
        # A scale of 4 bits is that of a row.
        fitting = [(*shape[:1], 1)] + ([] if bits else [(1, *shape[1:])])
        if len(shape) != 2 or sizes not in fitting:
            raise InputError(
                f"{source} has {name} of shape {sizes}, but no "
                f"{path} that it fits; copy the file again."
            )
        numbers = _unpacked(stored[path]) if bits else stored[path]
        arrays[path] = _expanded(numbers, stored[name])
    return arrays


def _in_8_bits(values, is_kernel):
    largest = np.abs(values).max(axis=0 if is_kernel else 1, keepdims=True)
    scale = np.maximum(largest / 127, _SMALLEST_SCALE)
    return np.rint(values / scale).astype("int8"), scale


def _in_4_bits(values):
    largest = np.abs(values).max(axis=1, keepdims=True)
    best = np.maximum(largest / 7, _SMALLEST_SCALE)
    least = np.full_like(best, np.inf)
    for part in _PARTS:
        scale = np.maximum(part * largest / 7, _SMALLEST_SCALE)
        difference = _rounded(values, scale) * scale - values
        error = np.square(difference).sum(axis=1, keepdims=True)
        best = np.where(error < least, scale, best)
        least = np.minimum(error, least)
    numbers = (_rounded(values, best) + 8).astype("uint8")
    return numbers[:, ::2] | numbers[:, 1::2] << 4, best


def _rounded(values, scale):
    return np.clip(np.rint(values / scale), -7, 7)


def _stored(array):
    return StoredArray(array.shape, lambda: array)


def _unpacked(array):
    def read():
        pairs = array.read()
        numbers = np.stack([pairs & 15, pairs >> 4], axis=-1)
        return numbers.reshape(shape).astype("int8") - 8

    rows, num_pairs = array.shape
    shape = (rows, 2 * num_pairs)
    return StoredArray(shape, read)


def _expanded(array, scale):
    return StoredArray(array.shape, lambda: array.read() * scale.read())
