"""The settings of a span task."""

from __future__ import annotations

import dataclasses
import math

from keras_bert.kinds.settings import KindSettings
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class SpanSettings(KindSettings):
    """Settings of a span task; names as in google-research/bert.

    Attributes:
        doc_stride: Tokens from the start of one window of a long context to
            the start of the next.
        max_query_length: Longer questions are truncated to this many tokens.
        max_answer_length: Longest answer, in tokens.
        n_best_size: Number of answers in nbest_predictions.json.
        answers_may_be_missing: Whether some questions have no answer, as in
            SQuAD 2.0. Otherwise every question gets one.
        null_score_diff_threshold: The model gives no answer if the score of
            "no answer" exceeds the best answer's score by more than this.
    """

    max_seq_length: int = 384
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best_size: int = 20
    answers_may_be_missing: bool = False
    null_score_diff_threshold: float = setting(0.0, minimum=-math.inf)
