"""The characters of words, and the pieces that begin at each character."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.text.pieces import fill_lists
from keras_bert.text.text_ops import find_sorted, num_bytes
from keras_bert.text.unicode_data import NUM_CODES


class Trie:
    """A trie, in which each piece is a path of code points from node 0."""

    def __init__(self, pieces: Mapping[str, int]):
        self.longest = max(map(len, pieces), default=1)
        nodes, keys, num_nodes = np.zeros(len(pieces), np.int64), [], 1
        codes = np.zeros([len(pieces), self.longest], np.int64)
        lengths = np.array([*map(len, pieces)])
        text = "".join(pieces).encode("utf-32-le", "surrogatepass")
        flat = np.frombuffer(text, np.uint32)
        codes[np.arange(self.longest) < lengths[:, None]] = flat
        for depth in range(self.longest):
            is_longer = lengths > depth
            paths = nodes[is_longer] * NUM_CODES + codes[is_longer, depth]
            unique, inverse = np.unique(paths, return_inverse=True)
            nodes[is_longer] = inverse + num_nodes
            num_nodes += len(unique)
            keys.append(unique)
        # Nodes are numbered in the order of their keys.
        self._keys = np.concatenate(keys)
        self._depths = np.repeat(
            np.arange(len(keys) + 1, dtype=np.int32), [1, *map(len, keys)]
        )
        self.ids = np.full(num_nodes, -1, np.int32)
        self.ids[nodes] = [*pieces.values()]

    def node_of(self, char: str) -> int:
        """Returns the node of a character that begins a piece."""
        return int(np.searchsorted(self._keys, ord(char))) + 1

    def matches(
        self, codes: tf.Tensor, room: tf.Tensor, nodes: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Finds all pieces that begin at each code point.

        Args:
            codes: The code points, int32 [C].
            room: The length of the longest piece that may begin at each code
                point, int32 [C].
            nodes: The node from which each path begins, int64 [C].

        Returns:
            For each piece, the index at which it begins, its length and its id,
            all int32 [P].
        """
        codes = tf.pad(codes, [[0, self.longest]])

        def step(
            places: tf.Tensor, length: tf.Tensor, nodes: tf.Tensor
        ) -> tuple:
            keys = tf.gather(codes, places + length) + nodes * NUM_CODES
            keys = tf.where(tf.gather(room, places) > length, keys, -1)
            nodes, is_node = find_sorted(self._keys, keys)
            stays = tf.where(is_node)[:, 0]
            places, nodes = (tf.gather(x, stays) for x in (places, nodes + 1))
            values = places, length + 1, tf.cast(nodes, tf.int64)
            return values, (places, nodes)

        places, found = fill_lists(2, step, (tf.range(tf.size(room)), 0, nodes))
        ids = tf.gather(self.ids, found)
        is_piece = tf.where(ids >= 0)[:, 0]
        found, places, ids = (
            tf.gather(x, is_piece) for x in (found, places, ids)
        )
        begins = tf.gather(tf.maximum(nodes, 0), places)
        lengths = tf.gather(self._depths, found)
        return places, lengths - tf.gather(self._depths, begins), ids


class Chars(NamedTuple):
    """The characters of words, one word after the other, [C].

    Attributes:
        codes: The code points, int64.
        rows: The index of each character's word, int32.
        places: The index of each character in its word, int32.
        room: The number of characters from each character to the end of its
            word, including both ends, int32.
        byte_ends: The byte offset in the word at which each character ends,
            int32.
        lengths: The number of characters of each word, int32 [W].
        splits: The index of the first character of each word, int32 [W].
    """

    codes: tf.Tensor
    rows: tf.Tensor
    places: tf.Tensor
    room: tf.Tensor
    byte_ends: tf.Tensor
    lengths: tf.Tensor
    splits: tf.Tensor

    @classmethod
    def of(cls, words: tf.Tensor) -> "Chars":
        codes = tf.strings.unicode_decode(words, "UTF-8")
        rows, places = tf.unstack(
            tf.cast(codes.to_sparse().indices, tf.int32), axis=1
        )
        lengths = tf.cast(codes.row_lengths(), tf.int32)
        splits = tf.cumsum(lengths, exclusive=True)
        sizes = num_bytes(codes.values)
        byte_ends = tf.cumsum(sizes)
        before = tf.gather(byte_ends - sizes, tf.gather(splits, rows))
        return cls(
            tf.cast(codes.values, tf.int64),
            rows,
            places,
            tf.gather(lengths, rows) - places,
            byte_ends - before,
            lengths,
            splits,
        )

    def walk(self, begins: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        """Returns the indices of characters on paths, in ascending order.

        A path starts at each index in `begins`. `steps`, int32 [C], is the
        distance from each character to the next character on its path; 0 ends
        the path.
        """

        def go(places: tf.Tensor) -> tuple:
            size = tf.gather(steps, places)
            return [(places + size)[size != 0]], [places]

        (places,) = fill_lists(1, go, [begins])
        places = places[:, None]
        is_found = tf.tensor_scatter_nd_update(
            tf.zeros_like(self.rows, tf.bool),
            places,
            tf.ones_like(places[:, 0], tf.bool),
        )
        return tf.cast(tf.where(is_found)[:, 0], tf.int32)
