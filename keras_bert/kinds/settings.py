"""The settings that every kind has, and the settings of several kinds.

Flags are made of them. A module named `settings` imports no TensorFlow, so
that --help and the message about a wrong flag come at once.
"""

from __future__ import annotations

import dataclasses
import math

from keras_bert.errors import InputError
from keras_bert.settings import check_settings, setting


@dataclasses.dataclass(frozen=True)
class KindSettings:
    """The settings that every kind of task has.

    A kind adds its own in a subclass, a frozen dataclass whose docstring has
    a line of help for each. Settings become flags of keras-bert finetune and
    are saved in `task.json`.

    Attributes:
        max_seq_length: Longest sequence, in tokens with [CLS] and [SEP].
            Longer texts are truncated, or read in overlapping windows.

    Example:
        >>> keras_bert.kinds.KindSettings(max_seq_length=40)
        KindSettings(max_seq_length=40)
    """

    max_seq_length: int = 128

    def __post_init__(self):
        check_settings(self)


@dataclasses.dataclass(frozen=True)
class WindowSettings(KindSettings):
    """Settings of a kind that can read a long text in windows.

    Attributes:
        window_pooling: How a text longer than max_seq_length is read: none
            truncates it; mean and max read it in overlapping windows, and
            take the mean or the maximum of each output over the windows.
        doc_stride: Tokens from the start of one window of a long text to the
            start of the next.
        max_num_windows: Most windows of a text; the rest of a longer one is
            truncated.
    """

    window_pooling: str = setting("none", choices=("none", "mean", "max"))
    doc_stride: int = 64
    max_num_windows: int = 32

    @property
    def in_windows(self) -> bool:
        """Whether a long text is read in windows."""
        return self.window_pooling != "none"


@dataclasses.dataclass(frozen=True)
class LabelSmoothingSettings(KindSettings):
    """Settings of a kind that can smooth its labels.

    Attributes:
        label_smoothing: The share of each label that the loss of training
            divides among all labels; 0 for none.
    """

    label_smoothing: float = setting(0.0, minimum=0, below=1)


@dataclasses.dataclass(frozen=True)
class ClassificationSettings(WindowSettings, LabelSmoothingSettings):
    """Settings of a classification or multilabel task.

    Attributes:
        class_weights: Weights of the labels in the loss of training: some of
            them ("yes=2.5,maybe=0.5"; the others weigh 1), or a number for
            each label, with commas between; "balanced" gives rare labels more
            weight, by how often they are in the training set; "" for 1.
        pooling: What the classifier reads: pooled, the output of the pooler on
            [CLS], as BERT does; or mean, the mean of all tokens, which suits an
            encoder of sentence-transformers.
    """

    class_weights: str = ""
    pooling: str = setting("pooled", choices=("pooled", "mean"))


@dataclasses.dataclass(frozen=True)
class RegressionSettings(WindowSettings):
    """Settings of a regression task.

    Attributes:
        min_value: Smaller predictions are raised to this number.
        max_value: Larger predictions are lowered to this number.
    """

    min_value: float | None = setting(None, minimum=-math.inf)
    max_value: float | None = setting(None, minimum=-math.inf)

    def __post_init__(self):
        super().__post_init__()
        bounds = self.min_value, self.max_value
        if None not in bounds and bounds[0] >= bounds[1]:
            raise InputError(
                f"min_value is {bounds[0]}, but must be below the max_value, "
                f"{bounds[1]}."
            )


@dataclasses.dataclass(frozen=True)
class RerankerSettings(WindowSettings):
    """Settings of a reranker task.

    Attributes:
        score_activation: What makes a score of the network's output: sigmoid,
            or linear for the output itself.
    """

    score_activation: str = setting("sigmoid", choices=("sigmoid", "linear"))
