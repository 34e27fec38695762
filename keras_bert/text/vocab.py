"""vocab.txt or tokenizer.json -> word pieces and a tokenizer's settings.

A vocab.txt contains one word piece per line. The id of a piece is its line
number, counted from 0.
"""

import collections
import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.text import tokenizer_files
from keras_bert.text.tokenizer_json import TokenizerJson
from keras_bert.text.tokenizer_settings import (
    AddedToken,
    SpecialTokens,
    TokenizerSettings,
)
from keras_bert.text.tokenizer_sources import read_tokenizer

_OF_JSON = (".json", ".model")
# The path of a vocab.txt or tokenizer.json, a parsed tokenizer.json, or the
# word pieces.
VocabFile = str | Path | TokenizerJson | list[str] | tuple[str, ...]


class TokenizerBase:
    """The vocabulary, the settings and the special tokens of a tokenizer.

    Args:
        vocab_file: A vocab.txt, a tokenizer.json, or the word pieces in the
            order of their ids.
        do_lower_case: Whether text is lower-cased. The default is what the
            tokenizer.json says, or True without a tokenizer.json. The log warns
            if the capitals in the vocabulary suggest the other value.
        settings: The other fields of `TokenizerSettings`; by default as the
            tokenizer.json sets them.

    Attributes:
        vocab: The word pieces and the added tokens, in the order of their ids.
        pieces: The word pieces, which come first in `vocab`.
        settings: The `TokenizerSettings`.
        json: The `TokenizerJson` of a model other than BERT's WordPiece, or
            None.
        pad_id, unk_id, cls_id, sep_id, mask_id: Ids of the special tokens.
    """

    def __init__(
        self,
        vocab_file: VocabFile,
        do_lower_case: bool | None = None,
        **settings: Any,
    ):
        super().__init__()
        if do_lower_case is not None:
            settings["do_lower_case"] = do_lower_case
        self.settings = TokenizerSettings(**settings)
        # A copy of a tokenizer, such as one in a worker process, is made from a
        # parsed file.
        json: TokenizerJson | None = None
        if isinstance(vocab_file, TokenizerJson):
            json = vocab_file
        elif not isinstance(vocab_file, (list, tuple)):
            file = to_path(vocab_file)
            if file.suffix in _OF_JSON and file.is_file():
                json = read_tokenizer(file)
                if len(settings) < len(dataclasses.fields(TokenizerSettings)):
                    told = tokenizer_files.read_values(file.parent, file)
                    self.settings = dataclasses.replace(
                        TokenizerSettings.from_values(told, file), **settings
                    )
        if json and not json.is_of_bert and self.settings.do_lower_case:
            raise InputError(
                f"{json.file} already defines how text is changed, so "
                "do_lower_case=True has no effect; leave do_lower_case out."
            )
        # MPNet has two separators. Its word pieces are found as in
        # transformers.
        is_other = self.settings.pair_separators == 2
        is_other |= json is not None and not json.is_of_bert
        self.json: TokenizerJson | None = json if is_other else None
        # Tuples, because TensorFlow would track a list and store it in every
        # SavedModel.
        self.pieces = tuple(load_vocab(json or vocab_file, self.settings))
        self.vocab = (*self.pieces, *_behind(self.pieces, self.settings))
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            self.vocab.index, self.special_tokens
        )
        # A copy, such as one in a worker process, is made from a tuple, and
        # does not repeat the warning.
        if not (self.json or isinstance(vocab_file, tuple)):
            _check_case(self.pieces, vocab_file, self.do_lower_case)

    def __reduce__(self) -> tuple:
        content = self.json or self.pieces
        return type(self).from_settings, (content, self.settings)

    @classmethod
    def from_settings(
        cls, vocab_file: VocabFile, settings: TokenizerSettings
    ) -> Self:
        """Returns a tokenizer with this vocabulary and these settings."""
        return cls(vocab_file, **dataclasses.asdict(settings))

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Returns the tokenizer whose files are in a local folder."""
        values = tokenizer_files.read_values(folder)
        settings = TokenizerSettings.from_values(values, folder)
        file = tokenizer_files.vocab_in(folder) or folder / "vocab.txt"
        return cls.from_settings(file, settings)

    @property
    def rules(self) -> tuple[str, ...]:
        """All that determines the ids of a text besides the settings.

        These are the pieces and, for a model other than BERT's, the text of the
        tokenizer.json: its merges, scores and steps.
        """
        steps = [json.dumps(self.json.values)] if self.json else []
        return *self.vocab, *steps

    def with_vocab(self, vocab: tuple[str, ...]) -> Self:
        """Returns a copy with the vocabulary `vocab` and the same added tokens.

        An added token that comes after all pieces does not become a piece.
        """
        added = tuple(
            token._replace(id=vocab.index(token.content))
            for token in self.settings.added_tokens
        )
        settings = dataclasses.replace(self.settings, added_tokens=added)
        behind = {*self.vocab[len(self.pieces) :]}
        num_pieces = max(i for i, x in enumerate(vocab, 1) if x not in behind)
        content: Any = vocab[:num_pieces]
        if self.json:
            content = self.json.with_vocab(vocab, num_pieces)
        return self.from_settings(content, settings)

    def sidecars(self, model_max_length: int) -> dict[str, str]:
        """Returns the text of a model's tokenizer files, by file name."""
        if self.json:
            return tokenizer_files.hub_files(self, model_max_length)
        return {
            "vocab.txt": "\n".join(self.pieces) + "\n",
            "tokenizer_config.json": self.settings.to_json(model_max_length),
        }

    def found_in_text(self, special: bool | None = None) -> list[AddedToken]:
        """Returns the tokens to find before splitting a text, sorted by id.

        `special` says whether the result includes [CLS] and the other special
        tokens; by default, the settings decide.
        """
        if special is None:
            special = self.settings.special_tokens_in_text
        in_text = {token.content: token for token in self.settings.added_tokens}
        for name in self.special_tokens:
            if special:
                id_ = self.vocab.index(name)
                token = AddedToken(name, id_, normalized=False, special=True)
                in_text.setdefault(name, token)
            else:
                in_text.pop(name, None)
        return sorted(in_text.values(), key=lambda token: token.id)

    @property
    def special_tokens(self) -> SpecialTokens:
        return self.settings.special_tokens

    @property
    def do_lower_case(self) -> bool:
        return self.settings.do_lower_case

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    @property
    def has_word_pieces(self) -> bool:
        """Whether ## marks the pieces that continue a word."""
        return self.json is None or self.json.is_of_bert

    @property
    def continues_word(self) -> list[bool]:
        """For each id, whether its piece continues a word."""
        if self.has_word_pieces:
            return [piece.startswith("##") for piece in self.vocab]
        assert self.json is not None
        mark = "\u2581" if self.json.model["type"] == "Unigram" else "\u0120"
        added = {x.content for x in self.json.added_tokens}
        return [not x.startswith(mark) and x not in added for x in self.vocab]

    def tokens(self, ids: Iterable) -> list[str]:
        """Returns the word pieces of a flat sequence of ids, for display.

        Raises InputError for an id that is not in the vocabulary.
        """
        numbers = [int(i) for i in ids]
        for number in numbers:
            if number not in range(self.vocab_size):
                raise InputError(
                    f"Id {number} is not in the vocabulary, which has "
                    f"{self.vocab_size} pieces."
                )
        return [self.vocab[number] for number in numbers]


def load_vocab(
    path: VocabFile, settings: TokenizerSettings | None = None
) -> list[str]:
    """Returns the word pieces in a `vocab.txt` or a `tokenizer.json`.

    `path` can be the word pieces themselves. Raises InputError if a special
    token is missing, if a piece occurs twice, or if an added token has one id
    in the settings and another in the vocabulary.
    """
    settings = settings or TokenizerSettings()
    if isinstance(path, (list, tuple)):
        pieces, path = list(path), "that was given"
    elif isinstance(path, TokenizerJson):
        pieces, path = path.pieces, path.file
    else:
        path = to_path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"No vocabulary at {path}; give the vocab.txt of the "
                "checkpoint, or learn one with keras-bert build-vocab."
            )
        if path.suffix in _OF_JSON:
            pieces = read_tokenizer(path).pieces
        else:
            pieces = tokenizer_files.read_pieces(
                path, is_of_hub=settings.is_of_hub
            )
    # In other families, a mark shows where a word begins, not where it goes on.
    is_json = str(path).endswith(_OF_JSON)
    marks = {} if is_json else {"\u2581": "SentencePiece", "\u0120": "BPE"}
    for mark, family in marks.items():
        if 10 * sum(x.startswith(mark) for x in pieces) > len(pieces):
            raise InputError(
                f"{path} is a {family} vocabulary: many pieces begin with "
                f"{mark!r}. BERT marks a piece inside a word with ##; "
                "give the tokenizer.json that belongs to this vocabulary."
            )
    vocab = [*pieces, *_behind(pieces, settings)]
    for token in settings.added_tokens:
        if vocab[token.id : token.id + 1] != [token.content]:
            raise InputError(
                f"The added token {token.content!r} has the id {token.id}, but "
                f"the vocabulary {path} has {len(pieces)} pieces, and ids must "
                "follow each other without gaps; give files from one folder."
            )
    missing = [x for x in settings.special_tokens if x not in vocab]
    if missing:
        raise InputError(
            f"The vocabulary {path} has no {', '.join(missing)}, "
            "which BERT needs, one per line. If the vocabulary has other names "
            "for the special tokens, give SpecialTokens."
        )
    ((first, num_lines),) = collections.Counter(vocab).most_common(1)
    if num_lines > 1:
        raise InputError(
            f"The vocabulary {path} has {first!r} on {num_lines} lines, but "
            "a word piece has one id; keep one of these lines."
        )
    return pieces


def capitals_of(pieces: Iterable[str]) -> list[str]:
    """Returns the pieces with a capital letter that do not begin with [."""
    return [p for p in pieces if p != p.lower() and not p.startswith("[")]


def _behind(pieces: Sequence[str], settings: TokenizerSettings) -> list[str]:
    """Returns the added tokens with ids above the pieces' ids, sorted by id."""
    added = sorted(settings.added_tokens, key=lambda token: token.id)
    return [token.content for token in added if token.id >= len(pieces)]


def _check_case(
    pieces: Sequence[str], vocab_file: Any, do_lower_case: bool
) -> None:
    capitals = capitals_of(pieces)
    # An uncased vocabulary may have a few capitals, such as in added pieces.
    limit = len(pieces) / 20 if do_lower_case else 0
    if (len(capitals) > limit) == do_lower_case:
        logging.warning(
            "%d word pieces of %.200s have a capital, but do_lower_case is %s; "
            "is this the right vocabulary?",
            len(capitals),
            vocab_file,
            do_lower_case,
        )
