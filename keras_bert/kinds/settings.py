"""The settings that every kind has, and those that only some kinds have.

The flags of keras-bert finetune come from these settings. None of the modules
with the name `settings` imports TensorFlow, so --help and errors in flags
appear at once.
"""

import dataclasses
import importlib
import json
import math
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting


@dataclasses.dataclass(frozen=True)
class KindSettings(CheckedSettings):
    """The settings that every kind of task has.

    A kind adds settings of its own in a subclass: a frozen dataclass whose
    docstring has a line of help for each setting. Settings become flags of
    keras-bert finetune and are saved in `task.json`.

    Attributes:
        max_seq_length: The longest sequence, in tokens including [CLS] and
            [SEP]. Longer texts are truncated, or read in overlapping windows.

    Example:
        >>> keras_bert.kinds.KindSettings(max_seq_length=40)
        KindSettings(max_seq_length=40)
    """

    # A pair has three special tokens; a window of words needs room for two.
    max_seq_length: int = setting(128, minimum=4)

    @property
    def in_windows(self) -> bool:
        """Whether a long text is read in windows."""
        return getattr(self, "window_pooling", "none") != "none"

    @property
    def default_prompt(self) -> str:
        """The prompt before the first text of each row; empty for none."""
        return ""

    def check_new_labels(self, given: Mapping[str, Any]) -> None:
        """Raises InputError if a setting fits only the model's old labels.

        `given` contains the settings that replace the model's settings in the
        training for new labels.
        """


@dataclasses.dataclass(frozen=True)
class WindowSettings(KindSettings):
    """Settings of a kind that can read a long text in windows.

    Attributes:
        window_pooling: How a text longer than max_seq_length is read: none
            truncates it; mean and max read it in overlapping windows, and
            take the mean or the maximum of each output over the windows.
        doc_stride: The number of tokens from the start of one window of a long
            text to the start of the next.
        max_num_windows: The largest number of windows per text; the rest of a
            longer text is cut off.
    """

    window_pooling: str = setting("none", choices=("none", "mean", "max"))
    doc_stride: int = 64
    max_num_windows: int = 32


@dataclasses.dataclass(frozen=True)
class LabelSmoothingSettings(KindSettings):
    """Settings of a kind that can smooth its labels.

    Attributes:
        label_smoothing: The share of each label's probability that the training
            loss spreads over all labels; 0 turns smoothing off.
    """

    label_smoothing: float = setting(
        0.0, minimum=0, below=1, is_for_training=True
    )


@dataclasses.dataclass(frozen=True)
class ClassificationSettings(WindowSettings, LabelSmoothingSettings):
    """Settings of a classification or multilabel task.

    Attributes:
        class_weights: The weights of the labels in the training loss, separated
            by commas: one number for each label, or pairs for some labels, such
            as "yes=2.5,maybe=0.5" (the other labels weigh 1). A dict that maps
            labels to numbers becomes such a string. "balanced" gives rare
            labels more weight, by their frequency in the training set. With "",
            all labels weigh 1.
        pooling: What the classifier reads: pooled, the output of the pooler on
            [CLS], as in BERT; or mean, the mean of all tokens, which suits a
            sentence-transformers encoder. If training starts from a checkpoint
            without a pooler, the default is mean. In families other than BERT,
            the checkpoint must also lack all other heads for this default.
    """

    class_weights: str = setting("", is_for_training=True)
    pooling: str = setting("pooled", choices=("pooled", "mean"))

    def __post_init__(self) -> None:
        if isinstance(self.class_weights, Mapping):
            weights = [
                f"{x}={weight}" for x, weight in self.class_weights.items()
            ]
            object.__setattr__(self, "class_weights", ",".join(weights))
        super().__post_init__()

    def check_new_labels(self, given: Mapping[str, Any]) -> None:
        weights = self.class_weights
        by_position = "=" not in weights and "balanced" not in weights
        if weights and by_position and "class_weights" not in given:
            raise InputError(
                f"The model was trained with class_weights={weights!r}, a "
                "number for each of its labels; give class_weights for the "
                "labels of this training."
            )


@dataclasses.dataclass(frozen=True)
class RegressionSettings(WindowSettings):
    """Settings of a regression task.

    Attributes:
        min_value: The smallest answer; smaller predictions are raised to it.
        max_value: The largest answer; larger predictions are lowered to it.
    """

    min_value: float | None = setting(None, minimum=-math.inf)
    max_value: float | None = setting(None, minimum=-math.inf)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.min_value, self.max_value
        if low is not None and high is not None and low >= high:
            raise InputError(
                f"min_value is {low}, but must be below the max_value, {high}."
            )


class PromptSettings(CheckedSettings):
    """Settings that have the fields `prompts` and `default_prompt_name`."""

    prompts: str
    default_prompt_name: str

    def __post_init__(self) -> None:
        if isinstance(self.prompts, Mapping):
            text = json.dumps(dict(self.prompts), ensure_ascii=False)
            object.__setattr__(self, "prompts", text)
        super().__post_init__()
        self.prompt()  # checks the prompts

    @property
    def named_prompts(self) -> dict[str, str]:
        """A mapping from the names in `prompts` to their texts."""
        try:
            prompts = json.loads(self.prompts or "{}")
        except (TypeError, ValueError):
            prompts = None
        if not isinstance(prompts, dict) or not all(
            name and isinstance(text, str) for name, text in prompts.items()
        ):
            raise InputError(
                f"prompts is {self.prompts!r}, but must be a JSON object that "
                'maps names to texts, such as {"query": "question: "}.'
            )
        return prompts

    @property
    def default_prompt(self) -> str:
        return self.prompt()

    def prompt(self, name: str | None = None) -> str:
        """Returns the prompt with this name; None means the default prompt.

        Raises InputError if there is no such prompt.
        """
        name = self.default_prompt_name if name is None else name
        prompts = {"": ""} | self.named_prompts
        if name not in prompts:
            known = ", ".join(self.named_prompts)
            advice = f"it has {known}" if known else "it has no prompts"
            raise InputError(f"The model has no prompt {name!r}; {advice}.")
        return prompts[name]


@dataclasses.dataclass(frozen=True)
class RerankerSettings(PromptSettings, WindowSettings):
    """Settings of a reranker task.

    Attributes:
        prompts: A JSON object that maps names to prompts, such as
            {"query": "question: "}.
        default_prompt_name: The name of the prompt before the first text; empty
            for no prompt.
        score_activation: The function that turns the network's output into a
            score: sigmoid, or linear, which keeps the output as it is.
    """

    score_activation: str = setting("sigmoid", choices=("sigmoid", "linear"))
    prompts: str = ""
    default_prompt_name: str = ""


@dataclasses.dataclass(frozen=True)
class TokenClassificationSettings(LabelSmoothingSettings):
    """Settings of a token classification task.

    Attributes:
        entity_grouping: How entities are found and scored. With "words", an
            entity consists of whole words and has the lowest of their scores.
            "first" and "simple" are transformers' strategies, in which an
            entity has the mean of the scores: with "first", of its words; with
            "simple", of its tokens, so an entity may end inside a word.
        crf: Whether the labels of a text are chosen together, with a score for
            each pair of neighboring labels (a linear-chain CRF).
        inner_punctuation: The characters that do not end a word if no space is
            beside them, such as "-" in "Jean-Luc"; by default, the punctuation
            inside the words of the training set.
    """

    entity_grouping: str = setting(
        "words", choices=("words", "first", "simple")
    )
    crf: bool = False
    inner_punctuation: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.crf and self.label_smoothing:
            raise InputError(
                f"label_smoothing is {self.label_smoothing}, but the loss of a "
                "CRF cannot be smoothed; set label_smoothing to 0, or crf to "
                "False."
            )


@dataclasses.dataclass(frozen=True)
class SpanSettings(KindSettings):
    """Settings of a span task, named as in google-research/bert.

    Attributes:
        doc_stride: The number of tokens from the start of one window of a long
            context to the start of the next.
        max_query_length: The longest question, in tokens; longer questions are
            truncated.
        max_answer_length: The longest answer, in tokens.
        n_best_size: The number of answers per question in
            nbest_predictions.json.
        answers_may_be_missing: Whether some questions have no answer, as in
            SQuAD 2.0. Otherwise, every question gets an answer.
        null_score_diff_threshold: The threshold for "no answer": the model
            gives no answer if the score of "no answer" exceeds the best
            answer's score by more than this number.
    """

    max_seq_length: int = setting(384, minimum=4)
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best_size: int = 20
    answers_may_be_missing: bool = False
    null_score_diff_threshold: float = setting(0.0, minimum=-math.inf)


def known_settings() -> list[type[KindSettings]]:
    """Returns the settings classes of all kinds; imports no TensorFlow.

    These are `KindSettings` and its subclasses, including subclasses that
    another file defined.

    Example:
        >>> kinds = keras_bert.kinds
        >>> kinds.EmbeddingSettings in kinds.known_settings()
        True
    """
    for name in module_names():
        if name.endswith(".settings"):
            importlib.import_module(name)
    known = [KindSettings]
    for settings in known:  # the loop adds to the list
        known += settings.__subclasses__()
    return sorted(dict.fromkeys(known), key=lambda settings: settings.__name__)


def module_names() -> list[str]:
    """Returns the names of the modules that define the kinds in this folder."""
    room = str(Path(__file__).parent)
    return [m.name for m in pkgutil.walk_packages([room], "keras_bert.kinds.")]
