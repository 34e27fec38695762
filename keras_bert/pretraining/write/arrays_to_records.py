"""Arrays -> serialized tf.train.Examples, many at a time.

To fill a tf.train.Example in Python and serialize it takes longer than all
other work on a record. Its bytes are simple, so this module lays out a whole
batch as a table of bytes and drops those that a row does not need.
https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import itertools

import numpy as np

# number << 3 | 2 (the wire type of a value with a length)
_FIELD_1 = 0x0A  # Example.features, Features.feature, its key, a list's value
_FIELD_2 = 0x12  # the value of a map's entry, Feature.float_list
_FIELD_3 = 0x1A  # Feature.int64_list


def serialize_examples(
    features: dict[str, np.ndarray | tuple[np.ndarray, np.ndarray]],
) -> list[bytes]:
    """Serializes row i of all arrays [B, size] as the i-th Example.

    Integers, which must not be negative, become int64 lists, and float32
    values float lists. For rows of different lengths, give a tuple: integers
    [B, size], padded with 0, and lengths [B].
    """
    entries = []
    for name, values in features.items():
        lengths = None
        if isinstance(values, tuple):
            values, lengths = values
        letters = np.frombuffer(name.encode(), np.uint8)
        column = np.tile(letters, (len(values), 1))
        key = _Table([(column, None)], len(letters))
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
    data = flat.ravel().compress(used.ravel()).tobytes()
    ends = [0, *np.cumsum(example.sizes).tolist()]
    return [data[begin:end] for begin, end in itertools.pairwise(ends)]


class _Table:
    """Bytes of B rows.

    `columns` are pairs of bytes, uint8 [B, n], and whether each one is used,
    bool [B, n] or None if all are. `sizes` counts the used bytes of each row.
    """

    def __init__(self, columns, sizes):
        self.columns = columns
        self.sizes = np.broadcast_to(sizes, len(columns[0][0]))

    def __add__(self, other):
        return _Table(self.columns + other.columns, self.sizes + other.sizes)


def _field(tag, content):
    """Puts the tag and the size in front of each row."""
    tags = np.full((len(content.sizes), 1), tag, np.uint8)
    return (
        _Table([(tags, None)], 1) + _varints(content.sizes[:, None]) + content
    )


def _floats(values):
    return _Table(
        [(values.astype("<f4").view(np.uint8), None)], 4 * values.shape[1]
    )


def _varints(values, lengths=None):
    """Integers [B, n] -> 7 bits a byte, the lowest first.

    The high bit of a byte says that another one follows.
    """
    highest = int(values.max())
    is_used, sizes = None, values.shape[1]
    if lengths is not None:
        is_used = np.arange(values.shape[1]) < lengths[:, None]
        sizes = lengths
    if highest < 0x80:
        return _Table([(values.astype(np.uint8), is_used)], sizes)
    values = values.astype(np.uint64 if highest >> 32 else np.uint32)
    num_bytes = -(-highest.bit_length() // 7)
    table = np.empty((*values.shape, num_bytes), np.uint8)
    used = np.ones(table.shape, bool)
    if is_used is not None:
        used[..., 0] = is_used
    for i in range(num_bytes):
        if i:
            used[..., i] = values > 0
            sizes = sizes + np.count_nonzero(values, axis=1)
        continues = (values > 0x7F).view(np.uint8)
        table[..., i] = values.astype(np.uint8) | continues * np.uint8(0x80)
        values = values >> 7
    shape = len(values), -1
    return _Table([(table.reshape(shape), used.reshape(shape))], sizes)
