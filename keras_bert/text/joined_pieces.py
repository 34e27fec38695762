"""Lines of text -> the pieces that a Unigram or BPE vocabulary lacks.

A new piece joins neighboring pieces of a word, so the rest of the text is
split as before. Words are runs of letters. What a tokenizer splits off before
it looks for pieces, such as punctuation, is not joined.
"""

import collections
import itertools
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from keras_bert.errors import InputError
from keras_bert.text.without_tensorflow import import_tokenizers

if TYPE_CHECKING:
    from keras_bert.text.tokenizer import BertTokenizer

# New pieces -> their parts, in the order of the new ids.
Joins = dict[str, tuple[str, ...]]

_LINES_PER_CALL = 1000
# A piece that occurs less often would hardly be trained.
_MIN_COUNT = 5
# The characters that mark a space before a word, in SentencePiece and in
# byte-level BPE.
_MARKS = "\u2581", "\u0120"
# The first character that stands for a piece. A million characters follow it.
_FIRST = 0x10000


def choose_joins(
    tokenizer: "BertTokenizer", lines: Iterable[str], num_pieces: int
) -> Joins:
    """Returns at most `num_pieces` new pieces, which save tokens in a text.

    Repeatedly, the most frequent pair of neighboring pieces in the text becomes
    one piece. This is BPE on pieces instead of characters, so the BPE trainer
    of the package `tokenizers` can do it.

    Raises InputError if `tokenizers` is not installed.
    """
    tokenizers = import_tokenizers("Learning pieces from a text needs")
    counts: collections.Counter[tuple[str, ...]] = collections.Counter()
    lines = iter(lines)
    while some := [*itertools.islice(lines, _LINES_PER_CALL)]:
        counts.update(_words(tokenizer, some))
    vocab = tokenizer.vocab
    ids = {piece: i for i, piece in enumerate(vocab)}
    words = {
        "".join(chr(_FIRST + ids[piece]) for piece in word): n
        for word, n in counts.items()
    }
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(set().union(*words)) + num_pieces,
        min_frequency=_MIN_COUNT,
        show_progress=False,
    )
    repeated = (itertools.repeat(word, n) for word, n in words.items())
    model.train_from_iterator(itertools.chain.from_iterable(repeated), trainer)
    joins: Joins = {}
    for pair in json.loads(model.to_str())["model"]["merges"]:
        parts = ["".join(vocab[ord(x) - _FIRST] for x in part) for part in pair]
        piece = "".join(parts)
        if piece not in ids:
            joins.setdefault(piece, tuple(parts))
    return joins


def join_words(
    tokenizer: "BertTokenizer", words: Sequence[str], in_pairs: bool
) -> Joins:
    """Returns new pieces and their parts, so that each word is one piece.

    A word is then one piece where it follows a space. With `in_pairs`, each new
    piece joins two pieces, as BPE requires, and the result includes the
    intermediate pieces.

    Raises InputError if an item of `words` is not one word, or contains a
    character that the tokenizer does not know.
    """
    known, joins = set(tokenizer.vocab), Joins()
    for word in words:
        text = f" {word}"
        if tokenizer.unk_id in tokenizer([text]).values.numpy():
            raise InputError(
                f"{word!r} has a character that the tokenizer does not know, "
                "so no pieces can be joined; leave the word out."
            )
        found = [*_words(tokenizer, [text])]
        if len(found) > 1 or not _is_letters(word):
            raise InputError(
                f"{word!r} is not one word; give one word per line, of letters "
                "only."
            )
        for parts in found:
            first = 2 if in_pairs else len(parts)
            for end in range(first, len(parts) + 1):
                piece = "".join(parts[:end])
                start = ("".join(parts[: end - 1]), parts[end - 1])
                if piece not in known:
                    joins.setdefault(piece, start if in_pairs else parts)
    return joins


def sources_of(joins: Joins, vocab: Iterable[str]) -> list[list[int]]:
    """Returns, for each new piece, the ids of the old pieces in it."""
    sources = {piece: [i] for i, piece in enumerate(vocab)}
    for piece, parts in joins.items():
        sources[piece] = [i for part in parts for i in sources[part]]
    return [sources[piece] for piece in joins]


def _words(
    tokenizer: "BertTokenizer", texts: list[str]
) -> Iterator[tuple[str, ...]]:
    """Yields the pieces of each word that has more than one piece."""
    found = tokenizer.tokenize_with_offsets(texts)
    columns = (found.ids, found.start_chars, found.end_chars)
    rows = zip(texts, *(x.to_list() for x in columns), strict=True)
    for text, ids, starts, ends in rows:
        word: list[str] = []
        last = 0
        for id_, start, end in zip(ids, starts, ends, strict=True):
            piece = tokenizer.vocab[id_]
            is_word = piece in _MARKS or _is_letters(text[start:end].strip())
            is_word &= id_ != tokenizer.unk_id
            begins = piece.startswith(_MARKS) or start > last
            if begins or not is_word:
                if len(word) > 1:
                    yield tuple(word)
                word = []
            if is_word:
                word.append(piece)
            last = end
        if len(word) > 1:
            yield tuple(word)


def _is_letters(text: str) -> bool:
    """Returns whether a text consists of letters and the marks on them."""
    return bool(text) and all(unicodedata.category(x)[0] in "LM" for x in text)
