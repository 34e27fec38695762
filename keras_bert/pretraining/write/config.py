"""How text becomes pre-training records."""

from __future__ import annotations

import dataclasses

from keras_bert.errors import InputError
from keras_bert.pretraining.write.ids_to_pairs import check_max_seq_length
from keras_bert.text.masking import MaskingConfig


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(MaskingConfig):
    """Names and defaults are Google's, and of its additions Model Garden's.

    Attributes:
        max_seq_length: Length of a sequence with its special tokens.
        max_predictions_per_seq: Most masked tokens of a sequence.
        random_seed: The same seed makes the same records.
        dupe_factor: How often the text is gone through, each time with other
            pairs and masks.
        short_seq_prob: Share of the sequences made shorter than they could
            be, so that short ones are seen too.
        dynamic_masking: Whether the records hold no pairs and no masks; both
            are drawn while training, so a dupe_factor of 1 is enough.
        split_sentences: Whether the text is split into sentences by its
            punctuation, where it does not have one sentence a line.
        gzip_compress: Whether the records are compressed.
        use_v2_feature_names: Whether records have the names input_word_ids
            and input_type_ids of Model Garden.
    """

    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    random_seed: int = 12345
    dupe_factor: int = 10
    short_seq_prob: float = 0.1
    dynamic_masking: bool = False
    split_sentences: bool = False
    gzip_compress: bool = False
    use_v2_feature_names: bool = False

    def __post_init__(self):
        check_max_seq_length(self.max_seq_length)
        if self.max_predictions_per_seq < 1:
            raise InputError(
                f"max_predictions_per_seq is {self.max_predictions_per_seq}, "
                "but at least 1 token of a sequence is masked."
            )
        if self.dupe_factor < 1:
            raise InputError(
                f"dupe_factor is {self.dupe_factor}, but the text is gone "
                "through at least once."
            )
        if not 0 <= self.short_seq_prob <= 1:
            raise InputError(
                f"short_seq_prob is {self.short_seq_prob}, but must lie "
                "between 0 and 1."
            )
