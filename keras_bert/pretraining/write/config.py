"""The settings of pre-training records."""

import dataclasses
import hashlib

from keras_bert.errors import InputError
from keras_bert.settings import setting
from keras_bert.text.masking_config import MaskingConfig

# Names in google-research/bert -> names in tensorflow/models, official/nlp.
V2_NAMES = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
# The features of records without masks: a stretch of sentences with about as
# many tokens as the target length; and sentences from another document, enough
# to follow the first sentence of the stretch.
STRETCH_NAMES = (
    "sentence_ids",
    "sentence_lengths",
    "random_sentence_ids",
    "random_sentence_lengths",
    "target_length",
)


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(MaskingConfig):
    """The settings of pre-training records.

    Names and defaults are as in google-research/bert, or as in Model Garden for
    the settings that Model Garden has added.

    Example:
        >>> config = keras_bert.PretrainingDataConfig(max_seq_length=512)
        >>> config.max_seq_length, config.dupe_factor
        (512, 10)

    Attributes:
        max_seq_length: The length of a sequence with its special tokens.
        random_seed: The seed; the same seed makes the same records.
        dupe_factor: The number of passes over the text, each with new pairs and
            masks.
        short_seq_prob: The probability that a document gets a random shorter
            target length in a pass, so that the model also sees short
            sequences.
        dynamic_masking: Whether to write records without pairs and masks. Both
            are then drawn during training, so a dupe_factor of 1 is enough.
        split_sentences: Whether to split the text into sentences by its
            punctuation, for text without one sentence per line.
        gzip_compress: Whether to compress the records.
        use_v2_feature_names: Whether to write Model Garden's names
            input_word_ids and input_type_ids.
    """

    max_seq_length: int = 128
    random_seed: int = setting(12345, minimum=0)
    dupe_factor: int = 10
    short_seq_prob: float = setting(0.1, minimum=0, maximum=1)
    dynamic_masking: bool = False
    split_sentences: bool = False
    gzip_compress: bool = False
    use_v2_feature_names: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_max_seq_length(self.max_seq_length)


def check_max_seq_length(max_seq_length: int) -> None:
    """Raises InputError if no pair fits into a sequence."""
    if max_seq_length < 5:
        raise InputError(
            f"max_seq_length is {max_seq_length}, but two sentences with "
            "their special tokens need at least 5 tokens."
        )


def digest(text: str) -> str:
    """Returns the hash of a text for the names of parts and for a `.json`."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
