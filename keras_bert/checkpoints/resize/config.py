"""The settings of `extend_vocab` and `trim_vocab`."""

import dataclasses

from keras_bert.settings import CheckedSettings


@dataclasses.dataclass(frozen=True)
class ExtendVocabConfig(CheckedSettings):
    """The settings of `extend_vocab`.

    Example:
        >>> keras_bert.checkpoints.ExtendVocabConfig(num_new_pieces=500)
        ExtendVocabConfig(num_new_pieces=500)

    Attributes:
        num_new_pieces: The largest number of pieces to learn from a text.
    """

    num_new_pieces: int = 2000


@dataclasses.dataclass(frozen=True)
class TrimVocabConfig(CheckedSettings):
    """The settings of `trim_vocab`: which pieces a vocabulary keeps.

    Example:
        >>> keras_bert.checkpoints.TrimVocabConfig(min_count=0)
        Traceback (most recent call last):
        keras_bert.errors.InputError: min_count is 0, but must be above 0.

    Attributes:
        min_count: How often a piece must occur in the text to be kept.
        vocab_size: The largest size of the new vocabulary. The special tokens
            and the kept characters have priority; the most frequent pieces of
            the text fill the rest. By default, there is no limit.
        keep_characters: Whether to keep all single-character pieces, so that
            words of other texts can still be split.
        keep_unseen_characters: Whether `keep_characters` includes characters
            that are not in the text. A multilingual vocabulary has thousands of
            these.
    """

    min_count: int = 1
    vocab_size: int | None = None
    keep_characters: bool = True
    keep_unseen_characters: bool = True
