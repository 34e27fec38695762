"""Arrays -> serialized tf.train.Examples, many at a time.

Filling and serializing a tf.train.Example in Python takes longer than all other
work on a record. The format of an Example is simple, so this module writes the
bytes itself. NumPy encodes the values of all rows. In each row, a header comes
before the values of a feature. The header depends only on the feature's name
and type and on the number of bytes of the values, so headers are reused.
https://protobuf.dev/programming-guides/encoding
"""

import functools
import itertools
from collections.abc import Iterator

import numpy as np

# field number << 3 | 2 (the wire type of a value with a length)
_FIELD_1 = b"\x0a"  # Example.features, Features.feature, its key, list's value
_FIELD_2 = b"\x12"  # the value of a map's entry, Feature.float_list
_FIELD_3 = b"\x1a"  # Feature.int64_list


def serialize_examples(
    features: dict[str, np.ndarray | tuple[np.ndarray, np.ndarray]],
) -> list[bytes]:
    """Returns serialized Examples, one for each row of the arrays [B, size].

    Integers, which must not be negative, become int64 lists, and float32 values
    become float lists. If the rows of a feature have different lengths, give a
    tuple of two arrays: the zero-padded rows, integers [B, size], and the
    length of each row, [B].
    """
    columns = [
        _entries(name, *(values if isinstance(values, tuple) else (values,)))
        for name, values in features.items()
    ]
    rows = zip(*columns, strict=True)
    return [_field(_FIELD_1, b"".join(entries)) for entries in rows]


def _entries(
    name: str, values: np.ndarray, lengths: np.ndarray | None = None
) -> Iterator[bytes]:
    """Yields the serialized feature of each row."""
    if values.dtype == np.float32:
        list_field = _FIELD_2
        data = values.astype("<f4").tobytes()
        sizes = np.full(len(values), 4 * values.shape[1])
    else:
        list_field = _FIELD_3
        data, sizes = _varints(values, lengths)

    @functools.cache
    def before(size: int) -> bytes:
        values = bytes(size)  # a placeholder, which is removed at the end
        feature = _field(list_field, _field(_FIELD_1, values))
        entry = _field(_FIELD_1, name.encode()) + _field(_FIELD_2, feature)
        return _field(_FIELD_1, entry).removesuffix(values)

    ends = [0, *np.cumsum(sizes).tolist()]
    for begin, end in itertools.pairwise(ends):
        yield before(end - begin) + data[begin:end]


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _size(len(content)) + content


@functools.cache
def _size(size: int) -> bytes:
    return _varints(np.array([[size]]))[0]


def _varints(
    values: np.ndarray, lengths: np.ndarray | None = None
) -> tuple[bytes, np.ndarray]:
    """Returns the bytes of integers [B, n], and the number of bytes per row.

    A byte contains 7 bits of an integer, lowest bits first. The high bit of a
    byte says that another byte follows.
    """
    num_bytes = max(1, -(-int(values.max()).bit_length() // 7))
    if num_bytes == 1 and lengths is None:
        sizes = np.full(len(values), values.shape[1])
        return values.astype(np.uint8).tobytes(), sizes
    values = values.astype(np.uint64 if num_bytes > 4 else np.uint32)
    table = np.empty((*values.shape, num_bytes), np.uint8)
    is_used = np.ones(table.shape, bool)
    if lengths is not None:
        is_used[..., 0] = np.arange(values.shape[1]) < lengths[:, None]
    for i in range(num_bytes):
        if i:
            is_used[..., i] = values > 0
        continues = (values > 0x7F).view(np.uint8)
        table[..., i] = values.astype(np.uint8) | continues << np.uint8(7)
        values = values >> 7
    sizes = np.count_nonzero(is_used, axis=(1, 2))
    return table.ravel().compress(is_used.ravel()).tobytes(), sizes
