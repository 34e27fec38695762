"""What this package uses of tensorflow-text, or stand-ins with equal results.

tensorflow-text has wheels for few platforms. The stand-ins run in Python, with
the word pieces of the package `tokenizers`: also in `dataset.map`, but not in
a SavedModel.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.without_tensorflow import import_tokenizers

try:
    import tensorflow_text as tf_text
except ModuleNotFoundError:
    tf_text = None


def require_tensorflow_text(what: str) -> None:
    """Raises InputError, which says `what` needs it, if it is missing."""
    if tf_text is None:
        raise InputError(
            f"{what} needs tensorflow-text, which is not installed; use a "
            "machine for which it has wheels, such as Linux on x86_64, and "
            "pip install tensorflow-text."
        )


def wordpiece(
    pieces: Sequence[str],
    unknown_token: str,
    max_chars_per_word: int,
    *,
    splits_text: bool,
) -> Any:
    """Returns a tokenizer of clean text, or else of its words."""
    if tf_text is None:
        return _WordPiece(pieces, unknown_token, max_chars_per_word)
    return tf_text.FastWordpieceTokenizer(
        list(pieces),
        # Longer words are blanked before; a character has up to 4 bytes.
        max_bytes_per_word=4 * max_chars_per_word + 1,
        token_out_type=tf.int32,
        unknown_token=unknown_token,
        no_pretokenization=not splits_text,
    )


def split(
    texts: tf.Tensor, delimiters: str, kept: str
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Splits texts [B] at delimiters; those that are `kept` are parts.

    Returns ragged [B, (parts)]: the parts, and the byte at which each starts.
    The operation of tensorflow-text stops at a NUL.
    """
    if tf_text is not None:
        return tf_text.regex_split_with_offsets(texts, delimiters, kept)[:2]
    return split_in_tensorflow(texts, delimiters, kept)


def split_in_tensorflow(
    texts: tf.Tensor, delimiters: str, kept: str
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Does the same without tensorflow-text."""
    # UTF-8 has no such byte.
    mark = b"\xff"
    marked = change_where(
        tf.strings.regex_full_match(texts, f"(?s).*({delimiters}).*"),
        texts,
        lambda texts: tf.strings.regex_replace(
            texts, f"({delimiters})", mark + rb"\1" + mark
        ),
    )
    parts = tf.strings.split(marked, mark)
    flat, rows = parts.flat_values, parts.value_rowids()
    starts = tf.cumsum(tf.strings.length(flat), exclusive=True)
    text_starts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    starts = tf.cast(starts - tf.gather(text_starts, rows), tf.int64)
    is_part = ~tf.strings.regex_full_match(flat, f"({delimiters})?")
    is_part |= tf.strings.regex_full_match(flat, kept)
    is_part = parts.with_flat_values(is_part)
    return (
        tf.ragged.boolean_mask(parts, is_part),
        tf.ragged.boolean_mask(parts.with_flat_values(starts), is_part),
    )


def num_bytes(codes: tf.Tensor) -> tf.Tensor:
    """Returns the bytes of each code point [C] in UTF-8, int32 [C]."""
    return sum(
        tf.cast(codes >= first, tf.int32) for first in (0, 0x80, 0x800, 0x10000)
    )


def find_sorted(
    keys: np.ndarray, values: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the place of each value among sorted keys, and if it is there."""
    places = tf.minimum(tf.searchsorted(keys, values), len(keys) - 1)
    return places, tf.gather(keys, places) == values


def decompose(texts: tf.Tensor) -> tf.Tensor:
    """Brings valid UTF-8 strings [B] into the form NFD of Unicode."""
    if tf_text is not None:
        return tf_text.normalize_utf8(texts, "NFD")

    def in_python(texts: np.ndarray) -> np.ndarray:
        forms = [unicodedata.normalize("NFD", x.decode()) for x in texts]
        return np.array([x.encode() for x in forms], object)

    return _call(in_python, texts, [tf.string])[0]


def change_where(
    mask: tf.Tensor, texts: tf.Tensor, change: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Applies `change` to the texts [B] whose mask [B] is True."""
    rows = tf.where(mask)
    return tf.tensor_scatter_nd_update(
        texts, rows, change(tf.gather_nd(texts, rows))
    )


class _WordPiece:
    """As tensorflow-text's tokenizer of words, by the package `tokenizers`."""

    def __init__(
        self, pieces: Sequence[str], unknown_token: str, max_chars_per_word: int
    ):
        tokenizers = import_tokenizers()
        model = tokenizers.models.WordPiece(
            {piece: i for i, piece in enumerate(pieces)},
            unk_token=unknown_token,
            max_input_chars_per_word=max_chars_per_word,
        )
        self._tokenizer = tokenizers.Tokenizer(model)

    def tokenize_with_offsets(self, words: tf.RaggedTensor) -> tuple:
        """Words [B, (words)] -> ids, starts and ends [B, (words), (pieces)].

        Starts and ends are places in the word, in bytes.
        """
        *pieces, lengths = _call(
            self._pieces, words.flat_values, [tf.int64] * 4
        )
        ids, starts, ends = (
            words.with_flat_values(
                tf.RaggedTensor.from_row_lengths(x, lengths, validate=False)
            )
            for x in pieces
        )
        return tf.cast(ids, tf.int32), starts, ends

    def _pieces(self, words: np.ndarray) -> list[np.ndarray]:
        """Words, bytes [W] -> flat ids, starts, ends; how many a word has."""
        unique = [word.decode() for word in dict.fromkeys(words)]
        pieces = {}
        for word, x in zip(
            unique, self._tokenizer.encode_batch(unique), strict=True
        ):
            ends = [len(word[:end].encode()) for _, end in x.offsets]
            pieces[word.encode()] = x.ids, [0, *ends[:-1]], ends
        rows = [pieces[word] for word in words]
        flat = [[x for row in rows for x in row[i]] for i in range(3)]
        lengths = [len(ids) for ids, _, _ in rows]
        return [np.array(x, "int64") for x in (*flat, lengths)]


def _call(
    function: Callable[[Any], Any], texts: tf.Tensor, dtypes: list[tf.DType]
) -> list[tf.Tensor]:
    """Calls Python in the graph on strings [N]; all results are of rank 1."""
    results = tf.numpy_function(function, [texts], dtypes, stateful=False)
    return [tf.ensure_shape(x, [None]) for x in tf.nest.flatten(results)]
