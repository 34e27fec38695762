"""What stands between the rows of a task and its network, both ways."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.batches import Examples
from keras_bert.kinds.spec import TaskSpec
from keras_bert.tasks.base import Row
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.training_model import Objective

Answer = Mapping[str, Any]


class Head(Protocol):
    """One of the kinds of tasks: a tf.Module, made of (spec, tokenizer).

    Attributes:
        spec: The `TaskSpec`.
        tokenizer: The model's.
        objectives: What its outputs are trained on.
    """

    spec: TaskSpec
    tokenizer: BertTokenizer
    objectives: Mapping[str, Objective]

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        """Returns the network, with random weights."""

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        """Turns rows into what the network reads, and is trained on.

        Raises InputError where a row lacks a field or its label is wrong.
        """

    def decode(
        self,
        rows: Sequence[Row],
        examples: Examples,
        outputs: Mapping[str, Sequence[np.ndarray]],
    ) -> list[Answer]:
        """Turns outputs into an answer for each row.

        `outputs` has, by name, an array for each example, as long as the
        example where the output has an axis of tokens. An answer can be
        written as JSON, and has the key `prediction`.
        """

    def score(
        self,
        rows: Sequence[Row],
        answers: Sequence[Answer],
        metrics: Sequence[str],
    ) -> dict[str, float]:
        """The metrics of the answers to rows that have labels."""

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes what helps to understand the errors, if anything does."""

    def signatures(
        self, model: keras.Model
    ) -> Mapping[str, tuple[Callable, Sequence[tf.TensorSpec]]]:
        """Functions for a SavedModel: named strings in, meanings out."""


_CLASSES = {
    "classification": "classification.ClassificationHead",
    "regression": "regression.RegressionHead",
    "multiple_choice": "multiple_choice.kind.MultipleChoiceHead",
    "span": "span.kind.SpanHead",
    "token_classification": "token_classification.kind.TokenClassificationHead",
}

_ONLY_FOR = {
    "features": ("token_classification",),
    "bilstm_size": ("classification", "token_classification"),
}


def build_head(
    spec: TaskSpec, vocab_file: str | Path, bert_config: BertConfig
) -> Head:
    """Raises InputError where vocabulary, network and task do not fit."""
    tokenizer = BertTokenizer(vocab_file, spec.do_lower_case)
    bert_config.check_max_seq_length(spec.max_seq_length)
    bert_config.check_vocab_size(tokenizer.vocab_size, vocab_file)
    for field, heads in _ONLY_FOR.items():
        if getattr(spec, field) and spec.head not in heads:
            raise InputError(
                f"{field} is {getattr(spec, field)!r}, but a {spec.head} task "
                f"has none; it is for {' and '.join(heads)}."
            )
    module, _, name = _CLASSES[spec.head].rpartition(".")
    module = importlib.import_module(f"keras_bert.kinds.{module}")
    return getattr(module, name)(spec, tokenizer)
