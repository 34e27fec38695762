"""A class of models for each kind of task; a folder -> a model of its class."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.finetuning.config import FinetuningConfig, config_of_fit
from keras_bert.finetuning.few_shot import FEW_SHOT, contrast_and_solve
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.finetuning.folder import (
    load_network,
    read_kind,
    read_training,
)
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.embedding.embedding import Embedding
from keras_bert.kinds.kind import Answer
from keras_bert.kinds.multilabel import MultiLabel
from keras_bert.kinds.multiple_choice import MultipleChoice
from keras_bert.kinds.regression import Regression
from keras_bert.kinds.span.span import Span
from keras_bert.kinds.spec import build_kind
from keras_bert.kinds.token_classification import token_classification
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Row


class TextClassifier(FinetunedModel):
    """Chooses one of several labels for a text or a pair of texts.

    Example:
        >>> model = keras_bert.TextClassifier.from_pretrained("pretrained")
        >>> texts = ["a good film", "a bad film"]
        >>> history = model.fit(texts, ["good", "bad"], epochs=2)
        >>> len(history.history["loss"])
        2
        >>> model.kind.spec.labels
        ('bad', 'good')
        >>> (answer,) = model.predict(["the movie was good"])
        >>> list(answer["scores"])
        ['bad', 'good']
    """

    kind_class = Classification
    text_fields = ("text", "other_text")
    metrics = ("accuracy",)

    @shown_log()
    def fit_few_shot(
        self,
        x: Any,
        y: Any = None,
        *,
        epochs: float | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        config: FinetuningConfig | None = None,
    ) -> keras.callbacks.History:
        """Trains on few examples, such as 8 to 64 of each label.

        First, pairs of texts teach the encoder to move texts with the same
        label close together. Then a logistic regression becomes the output
        layer (SetFit, Tunstall et al. 2022, arXiv 2209.11055). Use a sentence
        encoder, such as all-MiniLM-L6-v2, with `pooling="mean"`. Training
        starts from the checkpoint, even if the model has been trained since.

        The arguments and the result are as in `fit`. Without a config, the
        encoder is trained for 20 epochs, with a peak learning rate of 2e-5.

        Example:
            >>> model = keras_bert.TextClassifier.from_pretrained(
            ...     "pretrained", pooling="mean"
            ... )
            >>> texts = ["a good film", "good", "a bad film", "bad"]
            >>> labels = ["good", "good", "bad", "bad"]
            >>> history = model.fit_few_shot(texts, labels, epochs=2)
            >>> sorted(model.predict(["the movie was good"])[0]["scores"])
            ['bad', 'good']
        """
        config = FEW_SHOT if config is None else config
        config = config_of_fit(config, epochs, batch_size, learning_rate)
        config = dataclasses.replace(config, keep_checkpoint_max=1)
        learned, rows = self._rows.learn(x, y)
        kind = build_kind(learned.spec, self._start.tokenizer, self.bert_config)
        start = dataclasses.replace(self._start, config=config, new_head=True)
        kind = start.learn_settings(kind, rows)
        self._model, self.training, history = contrast_and_solve(
            kind, start, rows
        )
        self._kind, self._rows = kind, learned
        return history


class MultiLabelClassifier(FinetunedModel):
    """Gives any number of labels to a text or a pair of texts.

    The label of a text is a list of labels, which may be empty.

    Example:
        >>> model = keras_bert.MultiLabelClassifier.from_pretrained(
        ...     "pretrained", labels=["funny", "sad"]
        ... )
        >>> (answer,) = model.predict(["a good film"])
        >>> list(answer["scores"])
        ['funny', 'sad']
    """

    kind_class = MultiLabel
    text_fields = TextClassifier.text_fields
    metrics = ("micro_f1", "macro_f1")


class TextRegressor(FinetunedModel):
    """Gives a number to a text or a pair of texts.

    Example:
        >>> model = keras_bert.TextRegressor.from_pretrained(
        ...     "pretrained", max_value=5.0
        ... )
        >>> (answer,) = model.predict(["a good film"])
        >>> type(answer["score"])
        <class 'float'>
    """

    kind_class = Regression
    text_fields = TextClassifier.text_fields
    metrics = ("pearson", "spearman")


class TokenClassifier(FinetunedModel):
    """Chooses a label for each word of a text, and finds its entities.

    A text is a list of words; `predict` takes strings too.

    Example:
        >>> model = keras_bert.TokenClassifier.from_pretrained(
        ...     "pretrained", labels=["O", "B-DOG", "I-DOG"]
        ... )
        >>> (answer,) = model.predict([["the", "lazy", "dog"]])
        >>> len(answer["tags"])
        3
    """

    kind_class = token_classification.TokenClassification
    text_fields = ("words",)
    metrics = ("f1", "precision", "recall", "accuracy")

    def predict(self, x: Any, *, batch_size: int = 64) -> list[Answer]:
        """Returns answers to lists of words, or to strings (only entities)."""
        rows = self._rows.read(x)
        (field,) = self._rows.spec.text_fields
        if rows and all(
            isinstance(row, Mapping) and isinstance(row.get(field), str)
            for row in rows
        ):
            rows = [{"text": row[field]} for row in rows]
        return super().predict(rows, batch_size=batch_size)


class QuestionAnswerer(FinetunedModel):
    """Finds the part of a text that answers a question.

    The label is a list of answers, each a dict with `text` and `answer_start`.

    Example:
        >>> model = keras_bert.QuestionAnswerer.from_pretrained(
        ...     "pretrained", doc_stride=4, max_query_length=4
        ... )
        >>> (answer,) = model.predict([("what is lazy", "a lazy dog")])
        >>> answer["answer"] in "a lazy dog"
        True
    """

    kind_class = Span
    text_fields = ("question", "context")
    metrics = ("f1", "exact_match")


class MultipleChoiceModel(FinetunedModel):
    """Chooses one of several endings of a text.

    The label is the 0-based index of the right ending.

    Example:
        >>> models = keras_bert.finetuning
        >>> model = models.MultipleChoiceModel.from_pretrained("pretrained")
        >>> (answer,) = model.predict([("the film is", ["good", "a dog"])])
        >>> answer["choice"] in (0, 1)
        True
    """

    kind_class = MultipleChoice
    text_fields = ("context", "endings")
    metrics = ("accuracy",)


class TextEmbedder(FinetunedModel):
    """Turns texts into vectors, and learns from texts of similar meaning.

    The model learns from pairs of similar texts, or from triplets: a text, a
    similar text and a different text. With `loss="cosent"`, it learns from
    pairs whose label is their similarity.

    Example:
        >>> model = keras_bert.TextEmbedder.from_pretrained("pretrained")
        >>> (answer,) = model.predict(["a good film"])
        >>> len(answer["embedding"])
        12
    """

    kind_class = Embedding
    text_fields = ("text", "other_text", "negative")

    def _default_metrics(self, held_out: Sequence[Row]) -> tuple[str, ...]:
        is_scored = not held_out or "label" in held_out[0]
        return ("spearman",) if is_scored else ("triplet_accuracy",)


_CLASSES = {
    x.kind_class.name: x
    for x in FinetunedModel.__subclasses__()
    if x.kind_class
}


def load_finetuned(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    text_fields: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> FinetunedModel:
    """Loads a model with its task: a result of `finetune`, or a Hub model.

    transformers' `config.json` says what a Hub model is for. A
    sentence-transformers folder is a model of the kind `embedding`. The result
    is an instance of the class of its kind, such as `TextClassifier`.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> type(model).__name__, model.kind.spec.labels
        ('TextClassifier', ('0', '1'))
        >>> model = keras_bert.load_finetuned("finetuned", labels=["no", "yes"])
        >>> model.kind.spec.labels
        ('no', 'yes')

    Args:
        path: An output_dir of `finetune` or one of its checkpoints; a
            transformers or sentence-transformers folder, such as
            "hf://owner/name". If the model is of a kind of your own, import the
            file that defines the kind first.
        labels: New names for the labels, in the order of their ids.
        text_fields: New names for the fields that the model reads. A classifier
            from the Hub reads one text, `text`, unless two names are given.
        settings: Settings of the kind that replace the model's own.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        InputError: If the files do not say what the task is, if they lack a
            weight of the model, or if an argument does not fit the task.
    """
    kind, bert_config, checkpoint = read_kind(
        path, labels, text_fields, settings
    )
    model = load_network(kind, bert_config, checkpoint)
    training = read_training(checkpoint.folder)
    of_kind = _CLASSES.get(kind.name, FinetunedModel)
    return of_kind(model, kind, bert_config, training)
