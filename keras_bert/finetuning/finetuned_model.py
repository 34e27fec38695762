"""A fine-tuned model: make it or load it, train, ask, evaluate, export it."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import keras

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import export_finetuned, in_bfloat16
from keras_bert.export.network import export_network, load_network
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.data import (
    as_rows,
    is_list,
    learn_labels,
    names_of_texts,
    with_label_names,
)
from keras_bert.finetuning.engine import Engine
from keras_bert.finetuning.evaluation import Evaluation, Predictor
from keras_bert.finetuning.explain import Explanation, explain_row
from keras_bert.finetuning.export_report import export_report
from keras_bert.finetuning.few_shot import fit_few_shot_rows
from keras_bert.finetuning.fitting import checked_config, fit_rows
from keras_bert.finetuning.folder import (
    finetuned_folder,
    read_model,
    read_training,
    sidecars,
)
from keras_bert.io.local_copy import local_copy
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import check_is_new, write_json
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.embedding.embedding import Embedding
from keras_bert.kinds.fields import check_text, check_text_list
from keras_bert.kinds.kind import Answer, Kind, TaskSpec
from keras_bert.kinds.multilabel import MultiLabel
from keras_bert.kinds.multiple_choice import MultipleChoice
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.regression import Regression
from keras_bert.kinds.span.span import Span
from keras_bert.kinds.spec import (
    build_kind,
    find_spec,
    has_spec,
    make_settings,
)
from keras_bert.kinds.token_classification.token_classification import (
    TokenClassification,
)
from keras_bert.progress import shown_log
from keras_bert.training.checkpoint import write_weights

_BATCH_SIZE = 32


class FinetunedModel:
    """A network, and the kind of task that gives its numbers a meaning.

    A subclass, such as `TextClassifier`, makes a model of its kind from a
    pre-trained checkpoint. `load_finetuned` returns one too.

    Texts are a list or another column of strings; for a kind with two texts, a
    list of tuples or a tuple of two columns. Or they are rows with names: a
    list of dicts, a dict of lists, a DataFrame, a data set of the library
    `datasets`; these, and a `tf.data.Dataset` of (text, label), may have the
    labels inside, as `label`.

    Attributes:
        model: The network.
        kind: Encodes rows and decodes outputs; `kind.spec` is the task.
        bert_config: The encoder.
        training: What is known of the training: `task`, `data`,
            `checkpoint`, `num_train_examples`, `num_train_steps`,
            `config`, `metrics` and, if it had one, the `teacher`; empty for a
            model that was not trained.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> (answer,) = model.predict(["a very good film"])
        >>> sorted(answer)
        ['label', 'num_tokens', 'scores', 'truncated']
        >>> sorted(model.evaluate(["a very good film"], [1]))
        ['accuracy', 'loss']
        >>> history = model.fit(["good", "bad"], [1, 0], epochs=1)
        >>> model.export("served").name
        '1'
        >>> model.export("lite", keras_bert.ExportConfig("litert")).name
        '1'
        >>> model.save("copy")
    """

    kind_class: ClassVar[type[Kind] | None] = None
    text_fields: ClassVar[tuple[str, ...]] = ()
    metrics: ClassVar[tuple[str, ...]] = ()
    _predictor: Predictor | None = None

    def __init__(
        self,
        model: keras.Model,
        kind: Kind,
        bert_config: BertConfig,
        training: Mapping[str, Any] | None = None,
    ):
        self._model: keras.Model | None = model
        self._kind: Kind | None = kind
        self._spec, self._tokenizer = kind.spec, kind.tokenizer
        self._checkpoint: str | Path | None = None
        # The first rows tell the text fields, if nobody else has.
        self._learns_fields = False
        self.bert_config = bert_config
        self.training = training or {}

    @classmethod
    def from_pretrained(
        cls,
        checkpoint: str | Path,
        labels: Sequence | None = None,
        text_fields: Sequence[str] | None = None,
        *,
        do_lower_case: bool | None = None,
        **settings: Any,
    ):
        """Makes a model to train from a pre-trained or fine-tuned checkpoint.

        Args:
            checkpoint: As for `load_checkpoint`, with its config and
                vocabulary: a folder, or `hf://owner/name`. If it is a model of
                this kind, the other arguments are by default as in training.
            labels: The names of the labels, in the order of their ids; by
                default, the labels of the first rows that `fit` gets, in
                sorted order.
            text_fields: The names of the texts in rows with names; by default
                those of the first rows that `fit` gets.
            do_lower_case: By default, as the checkpoint was trained.
            settings: The settings of the kind, such as `max_seq_length`.

        Raises InputError if these do not fit together.
        """
        if cls.kind_class is None:
            raise InputError(
                "FinetunedModel has no kind; use a class with one, such as "
                "TextClassifier.from_pretrained, or load_finetuned."
            )
        if not checkpoint:
            raise InputError(
                f"The checkpoint is {checkpoint!r}; give a folder with weights "
                "or a name on the Hub, hf://owner/name."
            )
        bert_config, tokenizer = load_config_and_tokenizer(
            checkpoint, do_lower_case=do_lower_case
        )
        kind = cls.kind_class
        shortest = cls.text_fields[: kind.num_text_fields[0]]
        spec = TaskSpec(kind.name, shortest, kind.Settings(), (), cls.metrics)
        learns_fields = text_fields is None
        length = spec.settings.max_seq_length
        length = min(length, bert_config.max_position_embeddings)
        values: dict[str, Any] = {"max_seq_length": length}
        if has_spec(folder := checkpoint_folder(checkpoint)):
            found = find_spec(folder, bert_config)
            if found.kind == spec.kind:
                spec, learns_fields = found, False
                values = dataclasses.asdict(spec.settings)
        spec = dataclasses.replace(
            spec,
            text_fields=_names("text_fields", text_fields, spec.text_fields),
            settings=make_settings(spec.kind, {**values, **settings}),
            labels=_names("labels", labels, spec.labels),
            metrics=spec.metrics or cls.metrics,
        )
        made = cls.__new__(cls)
        made._model = made._kind = None
        if spec.labels or not kind.has_labels:
            made._kind = build_kind(spec, tokenizer, bert_config)
        made._spec, made._tokenizer = spec, tokenizer
        made._checkpoint = checkpoint
        made._learns_fields = learns_fields
        made.bert_config, made.training = bert_config, {}
        return made

    @property
    def kind(self) -> Kind:
        if self._kind is None:
            raise InputError(
                "The model has no labels yet; call fit with labeled texts, or "
                "give the labels to from_pretrained."
            )
        return self._kind

    @property
    def model(self) -> keras.Model:
        if self._model is None:
            engine = Engine(
                self.kind,
                self.bert_config,
                FinetuningConfig(),
                self._checkpoint,
            )
            self._model = engine.build_model()
        return self._model

    @shown_log()
    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        validation_data: Any = None,
        epochs: float | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        config: FinetuningConfig | None = None,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        output_dir: str | Path | None = None,
        overwrite_output_dir: bool = False,
        optimizer: None = None,
    ) -> keras.callbacks.History:
        """Trains the model as `finetune` does, from its present weights.

        With validation data, the result is the model of the epoch with the best
        first metric of `kind.spec`; without, that of the last step. Ctrl-C
        ends the training early and without an error: the result is the best
        model so far if an epoch was evaluated, or else that of the last step.

        Args:
            x: Texts or rows; see the class.
            y: A label for each, if they are not in the rows: strings, integers
                or booleans, which become strings. Those of each kind are in
                `Task.read`.
            validation_data: `(x, y)`, or rows with their labels.
            epochs, batch_size, learning_rate: In place of those of the config.
            config: All other settings; see `FinetuningConfig`.
            callbacks: Callbacks of Keras, as in `finetune`.
            output_dir: Gets checkpoints, from which the same call resumes, the
                history and `best/`, the result; by default, nothing stays.
            overwrite_output_dir: Whether to start over if it has a run.
            optimizer: Is refused; the config says how to train.

        Returns:
            A history as Keras has it: `history` has a list by figure, with a
            value for each epoch (the interval between two checkpoints). The
            figures of training are means over the epoch.
        """
        config = checked_config(
            config,
            optimizer,
            num_train_epochs=epochs,
            train_batch_size=batch_size,
            learning_rate=learning_rate,
        )
        spec, rows = self._learn(x, y)
        held_out = self._held_out(validation_data, spec)
        if not spec.metrics:
            metrics = self._default_metrics(held_out)
            spec = dataclasses.replace(spec, metrics=metrics)
        kind = build_kind(spec, self._tokenizer, self.bert_config)
        self._model, self._kind, self.training, history = fit_rows(
            Engine(kind, self.bert_config, config, self._checkpoint),
            rows,
            held_out,
            network=self._model,
            callbacks=callbacks,
            output_dir=output_dir,
            starts_over=overwrite_output_dir,
        )
        self._spec, self._learns_fields = self._kind.spec, False
        return history

    def predict(self, x: Any, *, batch_size: int = 64) -> list[Answer]:
        """Answers texts or rows; labels in them are not read.

        One text is not a list of texts, and refused.
        """
        kind, rows = self.kind, self._read(x)
        if not rows:
            return []
        examples = kind.encode(rows, labeled=False)
        if self._predictor is None or self._predictor.model is not self.model:
            self._predictor = Predictor(self.model, kind.objectives)
        outputs, _ = self._predictor(examples, batch_size=batch_size)
        return kind.answer(rows, examples, outputs)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_k: int | None = None,
    ) -> list[dict[str, Any]]:
        """Sorts documents by their score with a query, the best one first.

        Returns, for each of the `top_k` best documents or for all, a dict with
        `index`, its place in `documents`; `score`; and `document`.

        Raises InputError if the model does not answer pairs with a score.
        """
        spec = self.kind.spec
        if len(spec.text_fields) != 2 or not isinstance(self.kind, Regression):
            raise InputError(
                f"The model is a {spec.kind} of {', '.join(spec.text_fields)}, "
                "which has no score for a query and a document; give a "
                "reranker, or compare vectors with load_embedder."
            )
        check_text(query, "The query")
        documents = check_text_list(documents, "documents")
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise InputError(f"top_k is {top_k!r}; give a number above 0.")
        first, second = spec.text_fields
        answers = self.predict([{first: query, second: x} for x in documents])
        scores = [answer["score"] for answer in answers]
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        return [
            {"index": i, "score": scores[i], "document": documents[i]}
            for i in order[:top_k]
        ]

    def explain(self, x: Any, label: str | None = None) -> Explanation:
        """Says how much each token of one text or row moved the answer.

        It explains the label, by default the most probable one, or the number
        of a model without labels. See `Explanation`; a notebook draws it.

        Example:
            >>> model = keras_bert.load_finetuned("finetuned")
            >>> explanation = model.explain("a very good film", label="1")
            >>> [token["token"] for token in explanation.tokens]
            ['a', 'very', 'good', 'film']
            >>> explanation.to_html().count("<span")
            4
        """
        if not isinstance(x, (str, tuple, Mapping)):
            raise InputError(
                f"explain takes one text, pair or row, but got {x!r:.80}."
            )
        (row,) = self._read([x])
        return explain_row(self.model, self.kind, row, label)

    def evaluate(
        self, x: Any, y: Any = None, *, batch_size: int = 64
    ) -> dict[str, float]:
        """Returns the metrics of the task and the loss, on labeled rows."""
        rows = self._rows(x, y)
        evaluation = Evaluation(self.kind, rows, batch_size=batch_size)
        return evaluation(self.model)[1]

    def export(
        self,
        export_dir: str | Path,
        config: ExportConfig | None = None,
        *,
        rows: Any = None,
    ) -> Path:
        """Writes the next version of a served model, such as `export_dir/1`.

        By default, it is a SavedModel that takes strings; see
        `export_finetuned`. For other formats, see `export_network`. For
        another format or precision, or if there are labeled `rows`, a report
        beside the folder, such as `export_dir/1.report.json`, compares it with
        this model: its speed, and the metrics on the rows. See
        `export_report`. Returns the version's folder.
        """
        config = config or ExportConfig()
        # Before anything is written, because a row may be wrong.
        evaluation = None
        if rows is not None:
            rows = self._rows(rows)
            evaluation = Evaluation(self.kind, rows, batch_size=_BATCH_SIZE)
        exported = self.model
        if config.precision == "bfloat16":
            exported = in_bfloat16(self.model, self.kind, self.bert_config)
        parts: dict[str, Any] = {
            "bert_config": self.bert_config,
            "training": self.training,
        }
        if config.format == "saved_model":
            version = export_finetuned(exported, self.kind, export_dir, **parts)
        else:
            version = export_network(
                exported, self.kind, export_dir, config=config, **parts
            )
            exported = load_network(local_copy(version))
        if evaluation or config != ExportConfig():
            report = export_report(self.model, exported, self.kind, evaluation)
            size = sum(
                x.stat().st_size for x in version.rglob("*") if x.is_file()
            )
            write_json(
                version.with_name(f"{version.name}.report.json"),
                dataclasses.asdict(config) | {"bytes": size} | report,
            )
        return version

    def save(self, output_dir: str | Path) -> None:
        """Writes a new folder that `load_finetuned` loads.

        Raises InputError if the folder exists.
        """
        output_dir = to_path(output_dir)
        check_is_new(output_dir)
        texts = sidecars(self.kind, self.bert_config, self.training)
        write_weights(self.model, output_dir, texts)

    def _rows(self, x, y=None, spec=None):
        spec = spec or self._spec
        rows = self._read(x, y, spec.text_fields)
        if not get_kind(self._spec.kind).has_labels:
            return rows
        return with_label_names(rows, spec.labels)

    def _read(self, x, y=None, fields=None):
        fields = fields or self._spec.text_fields

        def name_texts(num_texts):
            if num_texts > len(fields):
                raise InputError(
                    f"A row has {num_texts} texts, but the model reads "
                    f"{', '.join(fields)}; give from_pretrained the "
                    "text_fields, one name for each text."
                )
            return fields[:num_texts]

        has_pairs = max(get_kind(self._spec.kind).num_text_fields) > 1
        return as_rows(x, y, name_texts=name_texts, has_pairs=has_pairs)

    def _learn(self, x, y):
        """Returns the task as the rows show it, and the rows."""
        spec = self._spec
        fields = self.text_fields if self._learns_fields else spec.text_fields
        rows = self._read(x, y, fields)
        if not rows:
            raise InputError(
                "There is no row to train on; give texts and their labels."
            )
        if self._learns_fields and isinstance(rows[0], Mapping):
            fields = self._find_fields(rows[0])
            spec = dataclasses.replace(spec, text_fields=fields)
        if get_kind(self._spec.kind).has_labels:
            if not spec.labels:
                labels = learn_labels(rows)
                spec = dataclasses.replace(spec, labels=labels)
            rows = with_label_names(rows, spec.labels)
        return spec, rows

    def _find_fields(self, row):
        numbers = get_kind(self._spec.kind).num_text_fields
        found, usual = tuple(names_of_texts(row)), self.text_fields
        if set(found) == set(usual[: len(found)]):
            return usual[: max(len(found), numbers[0])]
        if len(numbers) == 1 and set(usual) <= set(found):
            return usual  # it cannot be another number of texts
        if numbers[0] == len(found) == 1:
            return found
        raise InputError(
            f"The rows have the texts {', '.join(found)}; say which the model "
            f"reads, in order: from_pretrained(..., text_fields={found!r})."
        )

    def _default_metrics(self, held_out):
        return tuple(get_kind(self._spec.kind).metrics)[:1]

    def _held_out(self, data, spec):
        if data is None:
            return []
        parts = data if isinstance(data, tuple) else (data,)
        rows = self._rows(*parts, spec=spec) if len(parts) < 3 else []
        if not rows:
            raise InputError(
                f"validation_data is {reprlib.repr(data)}; give (x, y), or "
                "rows that have their labels inside, or leave it out."
            )
        return rows


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
        epochs: float = 20,
        batch_size: int = 32,
        learning_rate: float = 2e-5,
        config: FinetuningConfig | None = None,
    ) -> keras.callbacks.History:
        """Trains on 8 to 64 examples of each label, better than `fit` can.

        First, the encoder learns that texts of one label are near each other,
        from all pairs of texts; then a logistic regression is the output layer
        (SetFit, Tunstall et al. 2022, arXiv 2209.11055). Start from an encoder
        of sentences, such as all-MiniLM-L6-v2, with `pooling="mean"`.

        The arguments and the result are as in `fit`.

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
        config = checked_config(
            config,
            None,
            num_train_epochs=epochs,
            train_batch_size=batch_size,
            learning_rate=learning_rate,
        )
        spec, rows = self._learn(x, y)
        kind = build_kind(spec, self._tokenizer, self.bert_config)
        engine = Engine(kind, self.bert_config, config, self._checkpoint)
        self._model, self.training, history = fit_few_shot_rows(
            engine, rows, self._model
        )
        self._kind, self._spec, self._learns_fields = kind, spec, False
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

    kind_class = TokenClassification
    text_fields = ("words",)
    metrics = ("f1", "precision", "recall", "accuracy")

    def predict(self, x: Any, *, batch_size: int = 64) -> list[Answer]:
        """Answers lists of words, or strings, which have entities only."""
        rows, (field,) = self._read(x), self._spec.text_fields
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

    The label is the number of the right ending, from 0.

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
    """Turns texts into vectors, and learns from texts of like meaning.

    It learns from pairs, or triplets of a text, a like one and another one;
    with `loss="cosent"`, from pairs with their similarity as the label.

    Example:
        >>> model = keras_bert.TextEmbedder.from_pretrained("pretrained")
        >>> (answer,) = model.predict(["a good film"])
        >>> len(answer["embedding"])
        12
    """

    kind_class = Embedding
    text_fields = ("text", "other_text", "negative")

    def _default_metrics(self, held_out):
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
    """Loads a model with its task: a result of `finetune`, or one of the Hub.

    The `config.json` of transformers says what a model of the Hub is for. A
    folder of sentence-transformers is a model of the kind `embedding`. The
    result is an instance of the class of its kind, such as `TextClassifier`.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> type(model).__name__, model.kind.spec.labels
        ('TextClassifier', ('0', '1'))
        >>> model = keras_bert.load_finetuned("finetuned", labels=["no", "yes"])
        >>> model.kind.spec.labels
        ('no', 'yes')

    Args:
        path: An output_dir of `finetune` or one of its checkpoints; a folder
            of transformers or sentence-transformers, such as
            "hf://owner/name". If the model is of a kind of your own, import
            the file that defines the kind first.
        labels: Other names of the labels, in the order of their ids.
        text_fields: Other names of the fields that the model reads. A
            classifier of the Hub reads one text, `text`, if there are no two
            names here.
        settings: Settings of the kind that replace the model's own.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        InputError: If the files do not say what the task is, if they do not
            have all of its weights, or if an argument does not fit.
    """
    folder = finetuned_folder(path)
    model, kind, bert_config = read_model(path, labels, text_fields, settings)
    of_kind = _CLASSES.get(kind.name, FinetunedModel)
    return of_kind(model, kind, bert_config, read_training(folder))


def _names(name, values, default):
    """Returns labels or fields as strings, which must differ."""
    if values is None:
        return default
    if not is_list(values):
        raise InputError(
            f'The {name} are {values!r}; give a list such as ["a", "b"].'
        )
    names = tuple(map(str, values))
    if len(set(names)) < len(names):
        raise InputError(f"One of the {name} {names} occurs twice.")
    return names
