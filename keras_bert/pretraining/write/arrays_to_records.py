"""Arrays -> serialized tf.train.Examples, many at a time.

Filling a tf.train.Example in Python and serializing it takes longer than all
the rest of making a record. Its bytes are simple, though: here a whole batch
is laid out as a table of bytes, and those that a row does not need are left
out. https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import itertools

import numpy as np

# number << 3 | 2 (the wire type of all that has a length)
_FIELD_1 = 0x0A  # Example.features, Features.feature, its key, a list's value
_FIELD_2 = 0x12  # the value of a map's entry, Feature.float_list
_FIELD_3 = 0x1A  # Feature.int64_list


def serialize_examples(
    features: dict[str, np.ndarray | tuple[np.ndarray, np.ndarray]],
) -> list[bytes]:
    """Serializes row i of all arrays [B, size] as the i-th Example.

    Integers must not be negative and become int64 lists, float32 float lists.
    Of a pair of integers [B, size], padded with 0, and lengths [B], each row
    has its own length.
    """
    entries = []
    for name, values in features.items():
        lengths = None
        if isinstance(values, tuple):
            values, lengths = values
        key = np.frombuffer(name.encode(), np.uint8)
        key = _Table([(np.tile(key, (len(values), 1)), None)], len(key))
        if values.dtype == np.float32:
            list_field, payload = _FIELD_2, _floats(values)
        else:
            list_field, payload = _FIELD_3, _varints(values, lengths)
        payload = _field(list_field, _field(_FIELD_1, payload))
        entry = _field(_FIELD_1, key) + _field(_FIELD_2, payload)
        entries.append(_field(_FIELD_1, entry))
    example = _field(_FIELD_1, sum(entries[1:], entries[0]))
    flat = np.concatenate([v for v, _ in example.columns], axis=1)
    used = np.concatenate(
        [
            np.ones(v.shape, bool) if u is None else u
            for v, u in example.columns
        ],
        axis=1,
    )
    flat = flat.ravel().compress(used.ravel()).tobytes()
    ends = [0, *np.cumsum(example.sizes).tolist()]
    return [flat[begin:end] for begin, end in itertools.pairwise(ends)]


class _Table:
    """Bytes of B rows.

    `columns` are pairs of uint8 [B, n] and, as bool [B, n], which of them are
    used (None: all); `sizes` counts the used ones of each row.
    """

    def __init__(self, columns, sizes):
        self.columns = columns
        self.sizes = np.broadcast_to(sizes, len(columns[0][0]))

    def __add__(self, other):
        return _Table(self.columns + other.columns, self.sizes + other.sizes)


def _field(tag, content):
    """Puts the tag and the size before each row."""
    tags = np.full((len(content.sizes), 1), tag, np.uint8)
    return (
        _Table([(tags, None)], 1) + _varints(content.sizes[:, None]) + content
    )


def _floats(values):
    return _Table(
        [(values.astype("<f4").view(np.uint8), None)], 4 * values.shape[1]
    )


def _varints(values, lengths=None):
    """Integers [B, n] -> 7 bits a byte, lowest first, a high bit to go on."""
    highest = int(values.max())
    is_there, sizes = None, values.shape[1]
    if lengths is not None:
        is_there = np.arange(values.shape[1]) < lengths[:, None]
        sizes = lengths
    if highest < 0x80:
        return _Table([(values.astype(np.uint8), is_there)], sizes)
    values = values.astype(np.uint64 if highest >> 32 else np.uint32)
    num_bytes = -(-highest.bit_length() // 7)
    table = np.empty((*values.shape, num_bytes), np.uint8)
    used = np.ones(table.shape, bool)
    if is_there is not None:
        used[..., 0] = is_there
    for i in range(num_bytes):
        if i:
            used[..., i] = values > 0
            sizes = sizes + np.count_nonzero(values, axis=1)
        goes_on = (values > 0x7F).view(np.uint8)
        table[..., i] = values.astype(np.uint8) | goes_on * np.uint8(0x80)
        values = values >> 7
    shape = len(values), -1
    return _Table([(table.reshape(shape), used.reshape(shape))], sizes)
