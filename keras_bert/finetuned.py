"""A fine-tuned model with what its numbers mean: load it, ask it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.data.finetuning import (
    Examples,
    encode_examples,
    evaluation_batches,
)
from keras_bert.models.classifier import build_classifier, build_regressor
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What of a task its model has to remember; `task.json` beside it.

    Attributes:
        head: "classification" or "regression".
        labels: Names of the columns of `logits`; none in a regression.
        text_fields: The texts that the model reads, in their order.
        max_seq_length: Longer texts are cut.
        do_lower_case: Whether the vocabulary is uncased.
    """

    head: str
    labels: tuple[str, ...]
    text_fields: tuple[str, ...]
    max_seq_length: int
    do_lower_case: bool

    @classmethod
    def from_json(cls, file: Path) -> TaskSpec:
        values = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            **values
            | {key: tuple(values[key]) for key in ("labels", "text_fields")}
        )

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        """Returns the model of this head, with random weights."""
        if self.head == "classification":
            return build_classifier(bert_config, num_labels=len(self.labels))
        return build_regressor(bert_config)

    def build_preprocessor(
        self, vocab_file: str | Path, bert_config: BertConfig
    ) -> BertPreprocessor:
        """Raises ValueError where vocabulary and network do not fit."""
        if self.max_seq_length > bert_config.max_position_embeddings:
            raise ValueError(
                f"max_seq_length {self.max_seq_length} is over the "
                "max_position_embeddings "
                f"{bert_config.max_position_embeddings} of the model config; "
                "choose a smaller one."
            )
        tokenizer = BertTokenizer(vocab_file, self.do_lower_case)
        if tokenizer.vocab_size != bert_config.vocab_size:
            raise ValueError(
                f"{vocab_file} has {tokenizer.vocab_size} word pieces, but "
                f"the model {bert_config.vocab_size}; give the vocabulary "
                "that the model was trained with."
            )
        return BertPreprocessor(tokenizer, self.max_seq_length)


@dataclasses.dataclass(frozen=True)
class FinetunedModel:
    """Features -> `logits`, strings -> features, and their meaning."""

    model: keras.Model
    preprocessor: BertPreprocessor
    spec: TaskSpec

    def predict(self, rows: list[Row], *, batch_size: int = 64) -> np.ndarray:
        """Answers for rows that have the text fields.

        Returns float32 probabilities of the labels [N, L], or numbers [N]
        from a regression.
        """
        return self.predict_examples(
            encode_examples(rows, self.spec.text_fields, self.preprocessor),
            batch_size=batch_size,
        )

    def predict_examples(
        self, examples: Examples, *, batch_size: int
    ) -> np.ndarray:
        """As `predict`, of examples that are encoded already."""
        dataset, order = evaluation_batches(examples, batch_size=batch_size)
        logits = self.model.predict(dataset, verbose=0)["logits"]
        if self.spec.labels:
            sorted_answers = tf.nn.softmax(logits).numpy()
        else:
            sorted_answers = logits[:, 0]
        answers = np.empty_like(sorted_answers)
        answers[order] = sorted_answers
        return answers


def load_finetuned(path: str | Path) -> FinetunedModel:
    """Loads what `finetune` made: its output_dir or one of its checkpoints."""
    folder = checkpoint_folder(path)
    if not (folder / "task.json").is_file():
        raise FileNotFoundError(
            f"{folder} has no task.json, so it is not a fine-tuned model; "
            "give the output_dir of run_finetuning.py."
        )
    spec = TaskSpec.from_json(folder / "task.json")
    bert_config = BertConfig.from_json(folder / "bert_config.json")
    preprocessor = spec.build_preprocessor(folder / "vocab.txt", bert_config)
    model = spec.build_model(bert_config)
    load_checkpoint(model, folder)
    return FinetunedModel(model, preprocessor, spec)
