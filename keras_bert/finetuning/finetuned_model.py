"""A fine-tuned model: how to make, train, ask, evaluate and export it."""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import numpy as np

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError, check_count
from keras_bert.export.config import ExportConfig
from keras_bert.finetuning.adaptation import check_for_fit
from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.finetuning.config import FinetuningConfig, config_of_fit
from keras_bert.finetuning.evaluation import Evaluation, Predictor
from keras_bert.finetuning.explain import Explanation, explain_row
from keras_bert.finetuning.export_report import export_with_report
from keras_bert.finetuning.folder import (
    changed_spec,
    origin_of,
    sidecars,
    with_defaults,
    write_model_card,
)
from keras_bert.finetuning.label_order import label_places
from keras_bert.finetuning.task_rows import TaskRows
from keras_bert.finetuning.training import Start, history_of, train_kind
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import check_is_new
from keras_bert.kinds.fields import check_text, check_text_list
from keras_bert.kinds.kind import Answer, Kind, TaskSpec
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.spec import build_kind, find_spec, has_spec
from keras_bert.predict.served_model import check_no_nan
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Row
from keras_bert.training.checkpoint import write_weights
from keras_bert.training.distribution import get_strategy

# An argument of Keras' `fit` -> what to use instead.
_OF_KERAS = {
    "validation_split": "hold some rows out, and give them as validation_data",
    "class_weight": "give class_weights to from_pretrained, such as 'balanced'",
    "sample_weight": "class_weights of from_pretrained weighs whole labels",
    "new_head": "give it to from_pretrained",
    "verbose": "absl.logging.set_verbosity('warning') hides the log",
}
_OTHER_SETTINGS = "give other settings as config=FinetuningConfig(...)"


class FinetunedModel:
    """A network, and the kind of task that gives its numbers a meaning.

    A subclass, such as `TextClassifier`, makes a model of its kind from a
    pre-trained checkpoint. `load_finetuned` loads a fine-tuned model.

    The methods take texts as a list or another column of strings or, for a kind
    with two texts, as a list of tuples or a tuple of two columns. They also
    take rows with named fields: a list of dicts, a dict of lists, a DataFrame,
    or a data set from the library `datasets`. Such rows may contain their
    labels, as `label`. The elements of a `tf.data.Dataset` are (text, label).

    Class attributes:
        kind_class: The kind of the models that `from_pretrained` makes.
        text_fields: The names of the text fields if the rows do not name them.
        metrics: The metrics that `fit` reports, most important first.

    Attributes:
        model: The network.
        kind: The kind, which encodes rows and decodes outputs; `kind.spec` is
            the task.
        bert_config: The config of the encoder.
        training: What is known about the training: `task`, `data`,
            `checkpoint`, `num_train_examples`, `num_train_steps`, `config`,
            `metrics` and, if there was a teacher, `teacher`; empty for a model
            that was not trained.

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
        model: keras.Model | None,
        kind: Kind | None,
        bert_config: BertConfig,
        training: Mapping[str, Any] | None = None,
        *,
        rows: TaskRows | None = None,
        start: Start | None = None,
    ):
        """Without a network or a kind, `rows` and `start` are needed."""
        if kind is not None:
            rows = rows or TaskRows(kind.spec)
            tokenizer = kind.tokenizer
            start = start or Start(bert_config=bert_config, tokenizer=tokenizer)
        assert rows is not None and start is not None
        self._model, self._kind = model, kind
        self._rows, self._start = rows, start
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
        new_head: bool = False,
        **settings: Any,
    ) -> Self:
        """Makes a model to train from a pre-trained or fine-tuned checkpoint.

        Args:
            checkpoint: A checkpoint that `load_checkpoint` takes, with its
                config and vocabulary: a folder, or `hf://owner/name`. If the
                checkpoint is a model of this kind, the defaults of the other
                arguments are as in the training of that model.
            labels: The names of the labels, in the order of their ids; by
                default, the labels of the first rows that `fit` gets, in
                sorted order.
            text_fields: The names of the fields that contain the texts, in rows
                with named fields; by default, the names in the first rows that
                `fit` gets.
            do_lower_case: Whether to lower-case the text; by default, as the
                checkpoint was trained.
            new_head: Whether to train a new output layer, because the
                checkpoint has an output layer for other labels.
            settings: The settings of the kind, such as `max_seq_length`.

        Raises InputError if the arguments do not fit together.
        """
        kind_class = cls.kind_class
        if kind_class is None:
            raise InputError(
                f"{cls.__name__} has no kind; use a class with a kind, such as "
                "TextClassifier, or set kind_class, or call load_finetuned."
            )
        pretrained = Checkpoint.of(checkpoint)
        config, tokenizer = load_config_and_tokenizer(
            pretrained, do_lower_case=do_lower_case
        )
        spec = find_spec(pretrained, config) if has_spec(pretrained) else None
        if spec is None or spec.kind != kind_class.name:
            shortest = cls.text_fields[: kind_class.num_text_fields[0]]
            spec = TaskSpec(kind_class.name, shortest, kind_class.Settings())
            settings = with_defaults(settings, kind_class, pretrained, config)
        elif new_head or labels is not None:
            # Given labels may be in another order; `label_places` checks them.
            spec.settings.check_new_labels(settings)
            metrics = () if new_head else spec.metrics
            spec = dataclasses.replace(spec, labels=(), metrics=metrics)
        is_usual = spec.text_fields == cls.text_fields[: len(spec.text_fields)]
        learned = cls.text_fields if text_fields is None and is_usual else None
        spec = changed_spec(spec, labels, text_fields, settings)
        spec = dataclasses.replace(spec, metrics=spec.metrics or cls.metrics)
        kind = None  # as long as its labels are not known
        if spec.labels or not kind_class.has_labels:
            kind = build_kind(spec, tokenizer, config)
            label_places(kind, pretrained, config, new_head)  # checks
        start = Start(
            bert_config=config,
            tokenizer=tokenizer,
            checkpoint=checkpoint,
            new_head=new_head,
            origin=origin_of(checkpoint),
        )
        rows = TaskRows(spec, learned)
        return cls(None, kind, config, rows=rows, start=start)

    def __repr__(self) -> str:
        spec = self._rows.spec
        labels = ", ".join(spec.labels) or "no labels"
        return (
            f"{type(self).__name__}({spec.kind} of "
            f"{', '.join(spec.text_fields)}; {labels:.80})"
        )

    def summary(self, **options: Any) -> None:
        """Prints the layers of the network, as Keras does."""
        self.model.summary(**options)

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
            self._model = self._start.build_model(self.kind)
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
        **of_keras: Any,
    ) -> keras.callbacks.History:
        """Trains the model like `finetune`, from the model's current weights.

        With validation data, the result is the model of the epoch with the best
        first metric of `kind.spec`; without them, it is the model of the last
        step. Ctrl-C ends the training early and without an error: the result is
        the best model so far if an epoch was evaluated, or else the model of
        the last step.

        Args:
            x: Texts or rows; see the class.
            y: The label of each text, unless the rows contain it: strings,
                integers or booleans, which become strings. `Task` describes the
                labels of each kind.
            validation_data: `(x, y)`, or rows with their labels.
            epochs, batch_size, learning_rate: Values that replace the config's.
            config: All other settings; see `FinetuningConfig`.
            callbacks: Keras callbacks, as in `finetune`.
            output_dir: A folder for the checkpoints, the history and `best/`,
                the result. If the call is interrupted, repeat it: it continues.
                By default, nothing is kept.
            overwrite_output_dir: Whether to start over if output_dir already
                contains a run.
            of_keras: Other arguments of Keras' `fit`. They raise InputError,
                which says what to use instead.

        Returns:
            A Keras `History`: `history` maps each metric to a list with a value
            for each epoch (the interval between two checkpoints). The training
            metrics are means over the epoch.
        """
        for name in of_keras:
            raise InputError(
                f"fit has no argument {name!r}; "
                f"{_OF_KERAS.get(name, _OTHER_SETTINGS)}."
            )
        config = config_of_fit(config, epochs, batch_size, learning_rate)
        learned, rows = self._rows.learn(x, y)
        held_out = learned.read_held_out(validation_data)
        spec = learned.spec
        if not spec.metrics:
            metrics = self._default_metrics(held_out)
            spec = dataclasses.replace(spec, metrics=metrics)
        strategy = get_strategy(config)
        if output_dir is None:
            config = dataclasses.replace(config, keep_checkpoint_max=1)
        else:
            check_output_dir(output_dir)
            if self._model is not None and config.lora_rank:
                raise InputError(
                    "Adapters with an output_dir need a base model that is a "
                    "folder; save the model, load the folder with "
                    "from_pretrained, and call fit of the loaded model."
                )
        with tempfile.TemporaryDirectory(prefix="keras_bert-") as temporary:
            folder = to_path(output_dir or temporary)
            trained, history = train_kind(
                build_kind(spec, self._start.tokenizer, self.bert_config),
                lambda: rows,
                {"validation": held_out}.items() if held_out else (),
                self._present_start(config, Path(temporary) / "start"),
                strategy=strategy,
                output_dir=folder,
                callbacks=callbacks,
                starts_over=overwrite_output_dir,
                ends_at_interrupt=True,
            )
            self._model, self._kind = trained.model, trained.kind
            self.training = write_model_card(
                folder / "best", self._model, self._kind, self.bert_config
            )
        self._rows = TaskRows(trained.kind.spec)
        return history_of(history.rows, self._model)

    def predict(self, x: Any, *, batch_size: int = 64) -> list[Answer]:
        """Returns an answer to each text or row; ignores labels in the rows.

        A single string is refused, because it is not a list of texts.
        """
        kind, rows = self.kind, self._rows.read(x)
        if not rows:
            return []
        examples = kind.encode(rows, labeled=False)
        if self._predictor is None or self._predictor.model is not self.model:
            self._predictor = Predictor(self.model, kind.objectives)
        batches = evaluation_batches(examples, batch_size=batch_size)
        outputs, _ = self._predictor(*batches)
        flat = {
            n: np.concatenate([*map(np.ravel, x)]) for n, x in outputs.items()
        }
        check_no_nan(flat, "this model")
        return kind.answer(rows, examples, outputs)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_k: int | None = None,
    ) -> list[dict[str, Any]]:
        """Returns documents sorted by their score with a query, best first.

        Each result is a dict with the `index` in `documents`, the `score` and
        the `document`. Without `top_k`, all documents are returned.

        Raises InputError if the model does not answer pairs with a score.
        """
        fields = self.kind.spec.text_fields
        main_part = getattr(self.kind, "main_part", None)
        if len(fields) != 2 or main_part != "score":
            raise InputError(
                f"A model of the kind {self.kind.name} with the text_fields "
                f"{', '.join(fields)} has no score for a query and a document; "
                "use a reranker, or compare vectors from load_embedder."
            )
        check_text(query, "The query")
        documents = check_text_list(documents, "documents")
        if top_k is not None:
            check_count("top_k", top_k)
        pairs = [dict(zip(fields, (query, x), strict=True)) for x in documents]
        ranked = [
            {"index": i, "score": answer["score"], "document": documents[i]}
            for i, answer in enumerate(self.predict(pairs))
        ]
        return sorted(ranked, key=lambda x: -x["score"])[:top_k]

    def explain(self, x: Any, label: str | None = None) -> Explanation:
        """Returns how much each token of one text or row changed the answer.

        By default, the `label` to explain is the most probable label. If the
        model has no labels, its number is explained. A notebook shows the
        `Explanation` in colors.
        """
        if not isinstance(x, (str, tuple, Mapping)):
            raise InputError(
                f"explain takes one text, pair or row, but got {x!r:.80}."
            )
        (row,) = self._rows.read([x])
        return explain_row(self.model, self.kind, row, label)

    def evaluate(
        self, x: Any, y: Any = None, *, batch_size: int = 64
    ) -> dict[str, float]:
        """Returns the task's metrics and the loss on labeled rows."""
        rows = self._rows.read_labeled(x, y)
        evaluation = Evaluation(self.kind, rows, batch_size=batch_size)
        return evaluation(self.model)[1]

    def export(
        self,
        export_dir: str | Path,
        config: ExportConfig | None = None,
        *,
        rows: Any = None,
        calibration: Any = None,
    ) -> Path:
        """Writes the next version of a served model, such as `export_dir/1`.

        By default, the version is a SavedModel that takes strings; see
        `export_finetuned`. For another format or precision, or with labeled
        `rows`, a report such as `export_dir/1.report.json` is written beside
        the folder. The report contains the config, the size of all files
        (`bytes`) and, with rows, the `metrics` on these rows, each as a pair:
        this model's and the exported model's. With the format "auto", the
        report also contains the `measured_ms` of all formats. But if the folder
        already has versions, their format is used and nothing is measured.

        For OpenVINO's int8, give about 300 training texts without labels as
        `calibration`. They show how large the inputs of each layer become.
        Returns the version's folder.
        """
        # The rows are read before anything is written, because a row may be
        # wrong.
        evaluation = None
        if rows is not None:
            rows = self._rows.read_labeled(rows)
            evaluation = Evaluation(self.kind, rows, batch_size=32)
        if calibration is not None:
            calibration = self._rows.read(calibration)
        return export_with_report(
            self.model,
            self.kind,
            export_dir,
            ExportConfig.checked(config),
            bert_config=self.bert_config,
            training=self.training,
            evaluation=evaluation,
            calibration=calibration or (),
        )

    def save(self, output_dir: str | Path) -> None:
        """Writes a new folder that `load_finetuned` loads.

        Raises InputError if the folder exists.
        """
        output_dir = to_path(output_dir)
        check_is_new(output_dir)
        texts = sidecars(self.kind, self.bert_config, self.training)
        write_weights(self.model, output_dir, texts)
        write_model_card(output_dir, self.model, self.kind, self.bert_config)

    def _present_start(self, config: FinetuningConfig, folder: Path) -> Start:
        """Returns the start of a training from the current weights.

        If the model already has a network, saves the model in `folder`, from
        which the training then reads the weights.
        """
        start = dataclasses.replace(self._start, config=config)
        if self._model is None:
            return start
        check_for_fit(self._model)
        self.save(folder)
        return dataclasses.replace(start, checkpoint=folder, new_head=False)

    def _default_metrics(self, held_out: Sequence[Row]) -> tuple[str, ...]:
        return tuple(get_kind(self._rows.spec.kind).metrics)[:1]
