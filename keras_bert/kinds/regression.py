"""A text or a pair of texts -> a number."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import tensorflow as tf

from keras_bert.checkpoints.heads import REGRESSOR
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.fields import find_number, numbered
from keras_bert.kinds.hub_config import (
    IDENTITY,
    RANKING,
    SIGMOID,
    HubConfig,
    HubNames,
)
from keras_bert.kinds.kind import Answer, Metric, library_metric
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.settings import (
    RegressionSettings,
    RerankerSettings,
    WindowSettings,
)
from keras_bert.kinds.text_kind import TextKind
from keras_bert.models.heads import build_regressor
from keras_bert.tasks.base import Row
from keras_bert.training.losses import squared_error
from keras_bert.training.objectives import Objective

# Our names of activations -> sentence-transformers' names.
_ACTIVATIONS = {"sigmoid": SIGMOID, "linear": IDENTITY}


def _correlation(name: str) -> Metric:
    correlate = library_metric("scipy.stats", name)
    # The correlation of a single row is undefined.
    return lambda gold, predicted: (
        correlate(gold, predicted)[0] if len(gold) > 1 else math.nan
    )


class Regression(TextKind):
    """Answers with `score`, a number.

    The SavedModel takes the text fields [B] and returns `score`, float32 [B].
    Its signature `regress` follows TensorFlow Serving's Regress API.
    """

    name = "regression"
    Settings: ClassVar[type[WindowSettings]] = RegressionSettings
    metrics = {
        "pearson": _correlation("pearsonr"),
        "spearman": _correlation("spearmanr"),
    }
    main_part = "score"
    objectives = {"logits": Objective(squared_error)}
    hub = HubNames(
        heads=(REGRESSOR,),
        problem_type="regression",
        activations=(IDENTITY,),
    )
    _range_is = (
        "the min_value and max_value of the answers; change these settings, or "
        "the labels"
    )

    def build_network(self, bert_config: BertConfig) -> keras.Model:
        return build_regressor(bert_config)

    def gold(self, rows: Sequence[Row]) -> list[float]:
        smallest, largest = self._label_range()
        values = []
        for number, row in numbered(rows):
            value = find_number(row.get("label"), number)
            if not smallest <= value <= largest:
                raise InputError(
                    f"Label {row['label']!r} of example {number} is outside "
                    f"{smallest} to {largest}, {self._range_is}."
                )
            values.append(value)
        return values

    def submission(self, answer: Answer) -> str:
        return f"{answer['score']:.3f}"

    def served_answer(self, outputs: Tensors) -> Tensors:
        score = outputs["logits"][:, 0]
        return {"score": tf.clip_by_value(score, *self._label_range())}

    def _label_range(self) -> tuple[float, float]:
        settings = self.spec.settings
        return (
            -math.inf if settings.min_value is None else settings.min_value,
            math.inf if settings.max_value is None else settings.max_value,
        )


def _binary_cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    logits = tf.cast(logits[:, 0], tf.float32)
    labels = tf.cast(tf.reshape(labels, [-1]), tf.float32)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)


def _read_settings(
    config: HubConfig, bert_config: BertConfig
) -> dict[str, Any]:
    is_linear = config.activation(*_ACTIVATIONS.values()) == IDENTITY
    values = config.cross_encoder
    return {
        "max_seq_length": config.max_seq_length(bert_config),
        "score_activation": "linear" if is_linear else "sigmoid",
        "prompts": values["prompts"] or "",
        "default_prompt_name": values["default_prompt_name"] or "",
    }


def _activation(settings: RerankerSettings) -> dict[str, Any]:
    if settings.prompt():
        raise InputError(
            f"config.json has no place for the prompt {settings.prompt()!r}"
            " that precedes the first text; keep the model in our format, "
            "keras."
        )
    name = _ACTIVATIONS[settings.score_activation]
    return {"sentence_transformers": {"activation_fn": name}}


class Reranker(Regression):
    """Answers with `score`: how well a query and a document fit together.

    The score is the sigmoid of the network's output, or the output itself, as
    the setting `score_activation` says. `FinetunedModel.rank` sorts documents
    by this score. The label of a row is a number from 0, for texts that do not
    fit together, to 1. The loss is the cross-entropy of the sigmoid.

    The SavedModel takes the text fields [B] and returns `score`, float32 [B].
    Its signature `regress` follows TensorFlow Serving's Regress API.
    """

    name = "reranker"
    Settings = RerankerSettings
    objectives = {"logits": Objective(_binary_cross_entropy)}
    hub = HubNames(
        "text-ranking",
        heads=Regression.hub.heads,
        problem_type=RANKING,
        text_fields=("query", "document"),
        read_settings=_read_settings,
        further_values=_activation,
    )
    inherited_settings = ("score_activation", "prompts", "default_prompt_name")
    _range_is = "the range of the scores; change the labels"

    def description(self) -> dict[str, Any]:
        return {"score_activation": self.spec.settings.score_activation}

    def served_answer(self, outputs: Tensors) -> Tensors:
        score = outputs["logits"][:, 0]
        is_linear = self.spec.settings.score_activation == "linear"
        return {"score": score if is_linear else tf.sigmoid(score)}

    def _label_range(self) -> tuple[float, float]:
        return 0.0, 1.0
