"""vocab.txt or tokenizer.json -> the word pieces, and what a tokenizer knows.

vocab.txt has one word piece per line; its id is the number of the line.
Since its release 5, transformers writes `tokenizer.json` instead.
"""

import collections
import dataclasses
import functools
from pathlib import Path
from typing import Any, NamedTuple, Self

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.text.tokenizer_settings import TokenizerSettings, read_vocab


class SpecialTokens(NamedTuple):
    """The names of the special tokens in a vocabulary.

    Example:
        >>> names = keras_bert.text.SpecialTokens(mask=".")
        >>> tokenizer = keras_bert.BertTokenizer(
        ...     "vocab.txt", special_tokens=names
        ... )
        >>> tokenizer.tokens([tokenizer.mask_id])
        ['.']
    """

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"


# Every released vocabulary has these.
SPECIAL_TOKENS = SpecialTokens()


class TokenizerBase:
    """The vocabulary, the settings and the special tokens of a tokenizer.

    Args:
        vocab_file: A vocab.txt, or the word pieces in the order of their ids.
        do_lower_case: Whether text is lower-cased.
        settings: The other fields of `TokenizerSettings`.
        special_tokens: The names of the special tokens in the vocabulary. In
            a text, these names are split like any other text, so that no user
            can put a special token into a text.

    Attributes:
        vocab: The word pieces, in the order of their ids.
        settings: The `TokenizerSettings`.
        special_tokens: The `SpecialTokens`.
        pad_id, unk_id, cls_id, sep_id, mask_id: Ids of the special tokens.
    """

    def __init__(
        self,
        vocab_file: str | Path | list[str],
        do_lower_case: bool = True,
        *,
        special_tokens: SpecialTokens = SPECIAL_TOKENS,
        **settings: Any,
    ):
        super().__init__()
        # A tuple: a list would be tracked and stored in every SavedModel.
        self.vocab = tuple(load_vocab(vocab_file, special_tokens))
        self.settings = TokenizerSettings(do_lower_case, **settings)
        self.special_tokens = special_tokens
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            self.vocab.index, special_tokens
        )

    def __reduce__(self):
        return functools.partial(
            type(self),
            self.vocab,
            **dataclasses.asdict(self.settings),
            special_tokens=self.special_tokens,
        ), ()

    @classmethod
    def from_settings(
        cls, vocab_file: str | Path, settings: TokenizerSettings
    ) -> Self:
        """Returns a tokenizer with the settings of a checkpoint."""
        return cls(vocab_file, **dataclasses.asdict(settings))

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Returns the tokenizer whose `sidecars` are in a local folder."""
        file = folder / "tokenizer_config.json"
        settings = TokenizerSettings.from_json(file)
        return cls.from_settings(folder / "vocab.txt", settings)

    def sidecars(self, model_max_length: int) -> dict[str, str]:
        """Returns the text files that belong beside a model's weights."""
        return {
            "vocab.txt": "\n".join(self.vocab) + "\n",
            "tokenizer_config.json": self.settings.to_json(model_max_length),
        }

    @property
    def do_lower_case(self) -> bool:
        return self.settings.do_lower_case

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    def tokens(self, ids) -> list[str]:
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
    path: str | Path | list[str] | tuple[str, ...],
    special_tokens: SpecialTokens = SPECIAL_TOKENS,
) -> list[str]:
    """Reads a `vocab.txt`, or the `tokenizer.json` of a BERT tokenizer.

    It also takes the word pieces themselves. Raises InputError if one of the
    special tokens is missing or a piece is there twice.
    """
    if isinstance(path, (list, tuple)):
        vocab, path = list(path), "that was given"
    else:
        path = to_path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"No vocabulary at {path}; give the vocab.txt of the "
                "checkpoint, or learn one with keras-bert build-vocab."
            )
        is_json = path.suffix == ".json"
        vocab = read_vocab(path) if is_json else _read_lines(path)
    # Of other families, pieces mark where a word begins, not where it goes on.
    for mark, family in {"\u2581": "SentencePiece", "\u0120": "BPE"}.items():
        if 10 * sum(piece.startswith(mark) for piece in vocab) > len(vocab):
            raise InputError(
                f"The vocabulary {path} is one of {family}: many pieces begin "
                f"with {mark!r}. BERT marks a piece inside a word with ##; "
                "give a vocabulary of BERT."
            )
    missing = [token for token in special_tokens if token not in vocab]
    if missing:
        raise InputError(
            f"The vocabulary {path} has no {', '.join(missing)}, "
            "which BERT needs, each on a line of its own. If the vocabulary "
            "has other names for them, give SpecialTokens."
        )
    ((first, num_lines),) = collections.Counter(vocab).most_common(1)
    if num_lines > 1:
        raise InputError(
            f"The vocabulary {path} has {first!r} on {num_lines} lines, but "
            "a word piece has one id; keep one of them."
        )
    return vocab


def _read_lines(path):
    try:
        text = path.read_bytes().decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The vocabulary {path} is not UTF-8 ({error}); copy it again, or "
            "convert it to UTF-8."
        ) from error
    # Only LF ends a line: a released vocabulary has a U+2028 as a piece.
    return [line.removesuffix("\r") for line in text.split("\n")]
