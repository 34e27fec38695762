"""What of a task its model has to remember."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """`task.json`, beside the weights of a fine-tuned model.

    Attributes:
        head: As in `Task`.
        labels: Names of the columns of `logits`, where it has some.
        text_fields: The texts that the model reads, in their order.
        max_seq_length: Longer texts are cut, or go through the model in
            several windows.
        do_lower_case: Whether the vocabulary is uncased.
        value_range: The smallest and the largest number of a regression.
        doc_stride: From the start of one window to that of the next, in
            tokens.
        max_query_length: Of a longer question, only so many tokens are read.
        max_answer_length: No answer is longer, in tokens.
        n_best_size: So many answers are written to nbest_predictions.json.
        answers_may_be_missing: Whether a span task has questions without an
            answer; where not, one is always given.
        null_score_diff_threshold: No answer is given where its score exceeds
            that of the best answer by more.
        features: Of a frozen encoder, what a tagger is trained on: one of
            `feature_tagger.FEATURES`. Without, the encoder is trained too.
        bilstm_size: Of a two-layer BiLSTM on the encoder, in each direction;
            768 in the paper. With 0 there is none.
    """

    head: str
    labels: tuple[str, ...]
    text_fields: tuple[str, ...]
    max_seq_length: int
    do_lower_case: bool
    value_range: tuple[float, float] = (-math.inf, math.inf)
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best_size: int = 20
    answers_may_be_missing: bool = False
    null_score_diff_threshold: float = 0.0
    features: str = ""
    bilstm_size: int = 0

    @classmethod
    def from_json(cls, file: Path) -> TaskSpec:
        values = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in values.items()
            }
        )

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"
