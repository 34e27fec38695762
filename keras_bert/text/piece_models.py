"""Words -> the ids of their pieces, in TensorFlow without tensorflow-text.

A model takes strings [W] and returns `Pieces`. The results are the same as in
the package `tokenizers`, even where two ways to split a word are equally good.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.piece_trie import Chars, Trie
from keras_bert.text.pieces import Pieces, fill_lists
from keras_bert.text.text_ops import find_sorted

_NUM_IDS = 2**31
_INSIDE = chr(0xD800)  # replaces ##; valid UTF-8 does not contain it
_NO_RANK = np.int64(2**62)


class BytePairs:
    """Byte-pair encoding: joins the neighbors with the lowest rank first.

    This is the method of Sennrich et al. 2016 (arXiv 1508.07909), on bytes. A
    word is first cut into sections, between bytes that are adjacent in no
    piece, so that all sections of a long word are processed at the same time.

    Args:
        byte_ids: The ids of the 256 bytes.
        merges: A mapping from pairs of ids to the id of the joined piece, in
            the order of ranks.

    Raises:
        InputError: If a merge comes before the merges that make the two pieces
            that it joins.
    """

    def __init__(
        self, byte_ids: Sequence[int], merges: Mapping[tuple[int, int], int]
    ):
        self._byte_ids = np.array(byte_ids, np.int32)
        # The first and the last byte of each piece.
        outer = {x: (byte, byte) for byte, x in enumerate(byte_ids)}
        self._is_in_piece = np.zeros([256, 256], bool)
        for pair, joined in merges.items():
            if not outer.keys() >= {*pair}:
                raise InputError(
                    f"The merge {pair} of ids comes before the merges that "
                    "make these ids; give the original tokenizer files."
                )
            (first, end), (begin, last) = (outer[x] for x in pair)
            self._is_in_piece[end, begin] = True
            outer[joined] = first, last
        pairs = np.array([*merges], np.int64).reshape(-1, 2)
        keys = pairs[:, 0] * _NUM_IDS + pairs[:, 1]
        self._ranks = np.argsort(keys)
        self._keys = keys[self._ranks]
        self._joined = np.array([*merges.values()], np.int32)

    def __call__(self, words: tf.Tensor) -> Pieces:
        chars = tf.strings.unicode_decode(words, "ISO-8859-1")
        ids = tf.gather(self._byte_ids, chars.values)
        ends = tf.ragged.range(tf.cast(chars.row_lengths(), tf.int32)).values
        before = tf.roll(chars.values, 1, 0)
        side_by_side = tf.stack([before, chars.values], axis=1)
        begins = (ends == 0) | ~tf.gather_nd(self._is_in_piece, side_by_side)
        parts = tf.cumsum(tf.cast(begins, tf.int32)) - 1
        ranks = self._ranks_at(tf.range(tf.size(ids)), ids, parts)
        parts, ids, ends = fill_lists(
            3, self._join, (ranks, parts, ids, ends + 1)
        )
        order = tf.argsort(parts, stable=True)
        parts, ids, ends = (tf.gather(x, order) for x in (parts, ids, ends))
        rows = tf.gather(chars.value_rowids()[begins], parts)
        return Pieces.of_rows(words, rows, ids, ends)

    def _ranks_at(
        self, places: tf.Tensor, ids: tf.Tensor, parts: tf.Tensor
    ) -> tf.Tensor:
        """Returns the rank of the pair that begins at each of the `places`."""
        following = tf.minimum(places + 1, tf.size(ids) - 1)
        left, right = (
            tf.cast(tf.gather(ids, x), tf.int64) for x in (places, following)
        )
        keys = left * _NUM_IDS + right
        is_pair = tf.gather(parts, places) == tf.gather(parts, following)
        is_pair &= following > places
        index, is_known = find_sorted(self._keys, keys)
        ranks = tf.gather(self._ranks, index)
        return tf.where(is_pair & is_known, ranks, _NO_RANK)

    def _join(
        self,
        ranks: tf.Tensor,
        parts: tf.Tensor,
        ids: tf.Tensor,
        ends: tf.Tensor,
    ) -> tuple:
        """Joins the pairs with the lowest rank in each section of a word.

        `parts` is the index of each id's section. Returns the new arguments for
        the sections in which a pair was joined, and the `parts`, `ids` and
        `ends` of the other sections, which are done.
        """
        begins = tf.cast(parts[1:] != parts[:-1], tf.int32)
        numbers = tf.cumsum(tf.pad(begins, [[1, 0]]))
        lowest = tf.gather(tf.math.segment_min(ranks, numbers), numbers)
        goes_on = lowest < _NO_RANK
        done = [x[~goes_on] for x in (parts, ids, ends)]
        ranks, parts, ids, ends, joins = (
            x[goes_on] for x in (ranks, parts, ids, ends, ranks == lowest)
        )
        # Of overlapping pairs, as in a a a, the first is joined, then the third
        # and so on.
        count = tf.cast(joins, tf.int32)
        before = tf.cumsum(count, exclusive=True)
        run = tf.cumsum(1 - count)
        first = tf.gather(tf.math.segment_min(before, run), run)
        joins &= (before - first) % 2 == 0
        joined = tf.gather(self._joined, tf.where(joins, ranks, 0))
        ids = tf.where(joins, joined, ids)
        ends = tf.where(joins, tf.roll(ends, -1, 0), ends)
        stays = ~tf.pad(joins, [[1, 0]])[:-1]
        ranks, parts, ids, ends, joins = (
            x[stays] for x in (ranks, parts, ids, ends, joins)
        )
        changed = tf.where(joins | tf.pad(joins, [[0, 1]])[1:])
        new = self._ranks_at(tf.cast(changed[:, 0], tf.int32), ids, parts)
        ranks = tf.tensor_scatter_nd_update(ranks, changed, new)
        return (ranks, parts, ids, ends), done


class Unigram:
    """Splits a word into its most probable pieces, as in SentencePiece.

    The Viterbi algorithm finds the pieces with the highest sum of scores (Kudo
    2018, arXiv 1804.10959). A character that is not a piece is unknown;
    adjacent unknown characters are one piece.

    Args:
        scores: The scores of the pieces, in the order of their ids.
        pieces: A mapping from the pieces that can occur in words to their ids.
        unk_id: The id of unknown characters.
    """

    def __init__(
        self, scores: Sequence[float], pieces: Mapping[str, int], unk_id: int
    ):
        self._trie = Trie(pieces)
        self._scores = np.array(scores)
        # The scores of strings that are not pieces: only a single character
        # can be unknown.
        self._unknown = np.full(self._trie.longest, -np.inf)
        self._unknown[-1] = min(scores) - 10
        self._unk_id = unk_id

    def __call__(self, words: tf.Tensor) -> Pieces:
        chars = Chars.of(words)
        starts, lengths, ids = self._trie.matches(
            chars.codes, chars.room, tf.zeros_like(chars.codes)
        )
        # A row has the scores of the pieces that end at one character, longest
        # piece first.
        longest, size = self._trie.longest, tf.size(chars.codes)
        places = (starts + lengths) * longest - lengths
        scores = tf.tensor_scatter_nd_update(
            tf.tile(self._unknown, [size]),
            places[:, None],
            tf.gather(self._scores, ids),
        )
        choices = self._best(chars, tf.reshape(scores, [size, longest]))
        lengths_at = longest - choices
        ends = chars.walk(
            (chars.splits + chars.lengths - 1)[chars.lengths > 0],
            tf.where(chars.places >= lengths_at, -lengths_at, 0),
        )
        # Pieces were found in the order of these keys.
        keys = lengths * size + starts + lengths
        lengths = tf.gather(lengths_at, ends)
        wanted = lengths * size + ends + 1
        keys, ids = tf.pad(keys, [[0, 1]]), tf.pad(ids, [[0, 1]])
        places = tf.searchsorted(keys[:-1], wanted)
        is_piece = tf.gather(keys, places) == wanted
        ids = tf.where(is_piece, tf.gather(ids, places), -1)
        rows = tf.gather(chars.rows, ends)
        goes_on = (ids[:-1] < 0) & (ids[1:] < 0) & (rows[:-1] == rows[1:])
        is_last = ~tf.pad(goes_on, [[0, 1]])[: tf.size(ids)]
        ids = tf.where(ids < 0, self._unk_id, ids)
        ends = tf.gather(chars.byte_ends, ends)
        return Pieces.of_rows(words, *(x[is_last] for x in (rows, ids, ends)))

    def _best(self, chars: Chars, scores: tf.Tensor) -> tf.Tensor:
        """Returns the column in `scores` of the best piece at each character.

        The piece ends at the character. Of several equally good pieces, the
        longest is chosen.
        """
        order = tf.argsort(-chars.lengths, stable=True)
        firsts = tf.gather(chars.splits, order)
        longest = tf.reduce_max(tf.pad(chars.lengths, [[0, 1]]))
        # How many words are longer than 0, 1, 2 ... characters.
        numbers = tf.math.bincount(chars.lengths, minlength=longest + 1)
        numbers = tf.cumsum(numbers, exclusive=True, reverse=True)
        window = np.full(self._trie.longest, -np.inf)
        window[-1] = 0  # the sum of no pieces
        window = tf.repeat(window[None], numbers[0], axis=0)

        def step(window: tf.Tensor, i: tf.Tensor) -> tuple:
            sums = window + tf.gather(scores, firsts[: numbers[i]] + i)
            choice = tf.argmax(sums, axis=1, output_type=tf.int32)
            best = tf.reduce_max(sums, axis=1, keepdims=True)
            window = tf.concat([window[:, 1:], best], axis=1)
            return (window[: numbers[i + 1]], i + 1), [choice]

        (choices,) = fill_lists(1, step, (window, 0))
        ranks = tf.gather(tf.math.invert_permutation(order), chars.rows)
        offsets = tf.cumsum(numbers, exclusive=True)
        return tf.gather(choices, tf.gather(offsets, chars.places) + ranks)


class WordPiece:
    """Repeatedly splits off the longest piece at the front of a word.

    It splits as google-research/bert, tokenization.py, does. A word that does
    not consist of pieces, or is too long, is unknown.

    Args:
        pieces: A mapping from pieces to ids; ## marks a piece inside a word.
        unk_id: The id of an unknown word.
        max_chars_per_word: The longest word that can be known, in characters.
    """

    def __init__(
        self, pieces: Mapping[str, int], unk_id: int, max_chars_per_word: int
    ):
        inside = {
            _INSIDE + x.removeprefix("##"): i
            for x, i in pieces.items()
            if x.startswith("##") and len(x) > 2
        }
        self._trie = Trie({**pieces, **inside})
        # No path begins at node -1.
        self._inside = self._trie.node_of(_INSIDE) if inside else -1
        self._unk_id, self._longest = unk_id, max_chars_per_word

    def __call__(self, words: tf.Tensor) -> Pieces:
        chars = Chars.of(words)
        is_long = tf.gather(chars.lengths, chars.rows) > self._longest
        nodes = tf.where(chars.places == 0, 0, self._inside)
        room = tf.where(is_long, 0, chars.room)
        starts, lengths, ids = self._trie.matches(
            chars.codes, room, tf.cast(nodes, tf.int64)
        )
        # Of the pieces that begin at a character, only the longest is used.
        places = starts[:, None]
        length_at = tf.zeros_like(chars.room)
        length_at = tf.tensor_scatter_nd_max(length_at, places, lengths)
        is_longest = tf.gather(length_at, starts) == lengths
        id_at = tf.tensor_scatter_nd_update(
            tf.fill(tf.shape(chars.room), self._unk_id),
            places[is_longest],
            ids[is_longest],
        )
        starts = chars.walk(
            chars.splits[chars.lengths > 0],
            tf.where(chars.room > length_at, length_at, 0),
        )
        rows, lengths = (tf.gather(x, starts) for x in (chars.rows, length_at))
        failed = tf.math.unsorted_segment_max(
            tf.cast(lengths == 0, tf.int32), rows, tf.size(words)
        )
        failed = tf.gather(failed, rows) > 0
        stays = ~failed | (tf.gather(chars.places, starts) == 0)
        starts, rows, lengths, failed = (
            x[stays] for x in (starts, rows, lengths, failed)
        )
        lengths = tf.where(failed, tf.gather(chars.room, starts), lengths)
        ids = tf.where(failed, self._unk_id, tf.gather(id_at, starts))
        ends = tf.gather(chars.byte_ends, starts + lengths - 1)
        return Pieces.of_rows(words, rows, ids, ends)


class KnownWords(tf.Module):
    """A piece model with a look-up table for words that are one piece.

    Most words of a text are one piece, and a look-up is much faster than a
    split.
    """

    def __init__(
        self,
        model: Callable[[tf.Tensor], Pieces],
        words: Mapping[str, int] | Mapping[bytes, int],
    ):
        """Takes the model, and the ids of all pieces that may be words."""
        super().__init__(name="known_words")
        self._model = tf.function(
            model,
            autograph=False,
            input_signature=[tf.TensorSpec([None], tf.string)],
        )
        with tf.init_scope():
            names = tf.constant([*words])
            pieces = self._model(names)
            is_one = pieces.ids.row_lengths() == 1
            names = names[is_one]
            ids = tf.ragged.boolean_mask(pieces.ids, is_one).values
            self._known = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(names, ids), -1
            )

    def __call__(self, words: tf.Tensor) -> Pieces:
        ids = self._known.lookup(words)
        is_other = ids < 0
        others, index = tf.unique(words[is_other])
        others = self._model(others)
        numbers = tf.range(tf.size(ids))
        known = Pieces.of_rows(words, numbers, ids, tf.strings.length(words))
        # The rows of words outside the table come after the rows of all words.
        rows = tf.tensor_scatter_nd_update(
            numbers, tf.where(is_other), index + tf.size(ids)
        )
        columns = zip(known, others, strict=True)
        return Pieces(*(tf.gather(tf.concat(x, 0), rows) for x in columns))

    def tokenize_with_offsets(
        self, words: tf.RaggedTensor
    ) -> list[tf.RaggedTensor]:
        """Words [B, (words)] -> ids, starts and ends [B, (words), (pieces)].

        Starts and ends are offsets in the word, in bytes.
        """
        pieces = self(words.values)
        columns = (pieces.ids, pieces.starts, pieces.ends)
        return [words.with_values(x) for x in columns]
