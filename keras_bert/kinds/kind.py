"""The base class of all kinds of tasks."""

import dataclasses
import difflib
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import keras
import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.heads import register_heads
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.examples import Examples, to_rows
from keras_bert.kinds.hub_config import HubNames
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.settings import KindSettings, WindowSettings
from keras_bert.kinds.signatures import Signature, id_signature
from keras_bert.models.flops import count_work
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training import losses
from keras_bert.training.objectives import Objective
from keras_bert.training.steps import CountWork

Answer = dict[str, Any]
# The name of an output -> an array for each example.
Outputs = Mapping[str, Sequence[np.ndarray]]
# Names that kinds once defined, and that nothing reads now.
_FORMER = frozenset(
    "head_names hub_activations hub_settings hub_text_fields hub_values "
    "label_dtype pipeline_tag problem_type read_spec recognizes".split()
)
# Labels or answers of all rows, in the form that metrics take.
Values = Sequence | np.ndarray
# Called with the gold and the predicted answers of all rows.
Metric = Callable[..., Any]
# The objectives of a kind whose answer is one of several labels.
ONE_LABEL = {
    "logits": Objective(
        losses.cross_entropy,
        {"accuracy": losses.accuracy},
        soft_loss=losses.soft_cross_entropy,
    )
}


def library_metric(module: str, name: str, **options: Any) -> Metric:
    """Returns a metric function that imports its library when called."""

    def metric(gold: Values, predicted: Values) -> Any:
        function = getattr(importlib.import_module(module), name)
        return function(gold, predicted, **options)

    return metric


def smoothed_cross_entropy(
    labels: tf.Tensor, logits: tf.Tensor, *, label_smoothing: float
) -> tf.Tensor:
    """Returns the `cross_entropy` with smoothed labels.

    `label_smoothing` is the share of each label's probability that is spread
    over all labels (Szegedy et al. 2016, arXiv 1512.00567, section 7).
    """
    log_scores = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    of_all = -tf.reduce_mean(log_scores, axis=-1)
    of_label = losses.cross_entropy(labels, logits)
    return (1 - label_smoothing) * of_label + label_smoothing * of_all


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The part of a `Task` that is saved with its models, as `task.json`.

    Attributes:
        kind: The name of the kind.
        text_fields: The names of the fields that the model reads, in order.
        settings: An instance of the kind's `Settings`.
        labels: Names of the labels, in the order of their ids.
        metrics: Names of the kind's metrics, most important first.

    Example:
        >>> spec = keras_bert.load_finetuned("finetuned").kind.spec
        >>> spec.kind, spec.text_fields, spec.labels
        ('classification', ('sentence',), ('0', '1'))
    """

    kind: str
    text_fields: tuple[str, ...]
    settings: Any
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


class Kind(tf.Module):
    """A kind of task: turns rows into answers, in training and in a server.

    A subclass declares everything about a kind, in one file or folder: its rows
    and answers; its network and the losses; and, in the table `hub`, the names
    of the kind in the files of other libraries. Defining the subclass registers
    the kind under its `name`, so a file of your own can define both a kind and
    a task of that kind. See CONTRIBUTING.md.

    Class attributes:
        name: The name of the kind in `Task.kind` and `task.json`.
        Settings: A subclass of `KindSettings`.
        num_text_fields: The numbers of text fields that a task may have.
        has_labels: Whether a task of this kind has `labels`.
        label_is_list: Whether the label of a row is a list.
        tags_words: Whether the label of a row is a list with a label for each
            word of the row.
        metrics: A mapping from names to functions of (gold, predicted); a
            larger value is better.
        main_part: The key of the part of an answer that metrics and prediction
            files use, unless the kind overrides `predicted` or `submission`.
        objectives: A mapping from the names of the network's outputs to their
            objectives; an instance attribute if they depend on the settings.
        smoothed_loss: The loss for smoothed labels: the share `label_smoothing`
            of each label's probability is spread over all labels.
        batches_by_length: Whether each training batch contains only examples of
            similar length. This saves padding, but then a loss that ranks the
            examples of a batch never compares a short example with a long one.
        inherited_settings: The names of the settings that training takes from
            its checkpoint if the checkpoint is a model of this kind, unless
            the task or the user sets them.
        hub: The names of the kind and its output layers in the files of other
            libraries.

    Attributes:
        spec: The `TaskSpec`.
        tokenizer: The tokenizer of the model.
        preprocessor: The `BertPreprocessor` of the texts.

    Example:
        >>> spec = keras_bert.kinds.TaskSpec(
        ...     "classification",
        ...     text_fields=("sentence",),
        ...     settings=keras_bert.kinds.get_kind("classification").Settings(),
        ...     labels=("no", "yes"),
        ... )
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> kind = keras_bert.kinds.get_kind("classification")(spec, tokenizer)
        >>> rows = [{"sentence": "a good film", "label": "yes"}]
        >>> kind.encode(rows, labeled=True).labels["logits"].numpy()
        array([1], dtype=int32)
    """

    name: ClassVar[str]
    Settings: ClassVar[type[KindSettings]] = KindSettings
    num_text_fields: ClassVar[tuple[int, ...]] = (1, 2)
    has_labels: ClassVar[bool] = False
    label_is_list: ClassVar[bool] = False
    tags_words: ClassVar[bool] = False
    metrics: ClassVar[Mapping[str, Metric]]
    main_part: ClassVar[str]
    objectives: Mapping[str, Objective]
    smoothed_loss: ClassVar[Callable] = staticmethod(smoothed_cross_entropy)
    batches_by_length: bool = True
    inherited_settings: ClassVar[tuple[str, ...]] = ()
    hub: ClassVar[HubNames] = HubNames()

    def __init__(self, spec: TaskSpec, tokenizer: BertTokenizer):
        """Raises InputError if the task does not fit the kind."""
        super().__init__(name=self.name)
        self.spec = spec
        self.tokenizer = tokenizer
        self._check()

    @functools.cached_property
    def preprocessor(self) -> BertPreprocessor:
        """Packs texts for the network, in windows if the settings say so."""
        return text_preprocessor(self.spec.settings, self.tokenizer)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.__dict__.keys() - Kind.__annotations__.keys():
            near = difflib.get_close_matches(name, Kind.__annotations__, 1, 0.9)
            if near and name[0] != "_" and name not in dir(Kind):
                raise InputError(
                    f"The kind {cls.__name__} defines {name}, which looks like "
                    f"a misspelled {near[0]}; write {near[0]}, or choose a "
                    "name that is less similar."
                )
        if former := _FORMER.intersection(cls.__dict__):
            raise InputError(
                f"The kind {cls.__name__} has {min(former)}, which is no "
                "longer used; remove it. The names of the kind and its heads "
                "in other libraries are now given by hub = HubNames(...), and "
                "the dtype of the labels by what gold returns."
            )
        if "name" in cls.__dict__:
            needed = ["metrics", "build_model", "encode", "gold"]
            if cls.decode is Kind.decode:
                needed.append("served_answer")
            for name in needed:
                if getattr(cls, name, None) == getattr(Kind, name, None):
                    cls._lacks(name)
            KINDS[cls.name] = cls
        register_heads(cls.hub.heads)

    # The network, and what it is trained on.

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        """Returns the network, with random weights."""
        raise NotImplementedError

    @classmethod
    def settings_from_checkpoint(
        cls,
        checkpoint: str | Path | Checkpoint,
        bert_config: BertConfig,
        given: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Returns default settings for training from a checkpoint.

        The checkpoint may have no config beside it, so `bert_config` is passed.
        `given` contains the settings that are already set and need no default.
        """
        return {}

    def settings_from_data(self, rows: Iterable[Row]) -> dict[str, Any]:
        """Returns the settings that are derived from the training rows.

        The rows are read from disk one at a time, and only once.
        """
        return {}

    @property
    def training_objectives(self) -> Mapping[str, Objective]:
        """The losses to train on, with smoothed labels if the settings say so.

        Evaluation uses `objectives` instead.
        """
        share = getattr(self.spec.settings, "label_smoothing", 0)
        if not share:
            return self.objectives
        loss = functools.partial(self.smoothed_loss, label_smoothing=share)
        return {
            name: dataclasses.replace(objective, loss=loss)
            for name, objective in self.objectives.items()
        }

    def training_weights(self, labels: Tensors) -> Tensors:
        """Returns the training-loss weights of encoded labels, by output.

        They replace the weights that `encode` returned for these outputs.
        """
        return {}

    def work_counter(self, bert_config: BertConfig) -> CountWork:
        """Returns a function that counts the tokens and FLOPs of a batch."""
        # An output layer on all tokens is counted as if it were on the pooled
        # output. The difference is small.
        size = len(self.spec.labels) or 1
        return functools.partial(
            count_work, config=bert_config, num_labels=size
        )

    # Rows -> inputs of the network; its outputs -> answers.

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        """Returns the inputs of the network for rows, with labels if `labeled`.

        In training, several threads call this method, each with a chunk of at
        most 10,000 rows; `keras_bert.kinds.fields.numbered` yields the rows
        with their numbers in the data set. The examples of a row must not
        depend on the other rows.

        Raises InputError if a row lacks a field or its label is wrong.
        """
        raise NotImplementedError

    def tune(
        self, model: keras.Model, examples: Examples, outputs: dict[str, list]
    ) -> dict[str, list]:
        """Fits weights that are not trained, such as thresholds, on a dev set.

        `outputs` are the model's outputs for `examples`. Returns the outputs to
        score: each of them must be computed with weights that were fitted to
        other examples only, so that the score is not too good.
        """
        return outputs

    def reset_tuned(self, model: keras.Model) -> None:
        """Resets the weights that `tune` fits, to train without a dev set."""

    def served_answer(self, outputs: Tensors) -> Tensors:
        """Returns the answers for outputs [B, ...], eagerly or in a graph.

        If the kind has labels, the answers' `scores` [B, L] have an entry for
        each label.
        """
        self._lacks("served_answer")

    def decode(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        """Returns an answer for each row: its `served_answer` as JSON values.

        A kind whose answers need more than the outputs of one example overrides
        this method, with the same keys as the served model's answer. An output
        with an axis of tokens is at least as long as its example.
        """
        stacked = {
            name: tf.constant(np.stack(x)) for name, x in outputs.items()
        }
        answers, labels = to_rows(self.served_answer(stacked)), self.spec.labels
        for answer in answers:
            if labels and "scores" in answer:
                scores = zip(labels, answer["scores"], strict=True)
                answer["scores"] = dict(scores)
        return answers

    def answer(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        """Returns the decoded answers, with `truncated` and `num_tokens`."""
        answers = self.decode(rows, examples, outputs)
        read = examples.truncation_info()
        return [{**x, **y} for x, y in zip(answers, read, strict=True)]

    # Answers -> metrics and reports.

    def score(
        self,
        rows: Sequence[Row],
        answers: Sequence[Answer],
        metrics: Iterable[str],
    ) -> dict[str, float]:
        """Returns the metrics of the answers to labeled rows."""
        gold, predicted = self.gold(rows), self.predicted(answers)
        return {
            name: float(self.metrics[name](gold, predicted)) for name in metrics
        }

    def gold(self, rows: Sequence[Row]) -> Values:
        """Returns the labels of rows in the form that the metrics take.

        Raises InputError if a label is wrong.
        """
        raise NotImplementedError

    def predicted(self, answers: Sequence[Answer]) -> Values:
        """Returns answers in the form that the metrics take."""
        return [answer[self.main_part] for answer in answers]

    def submission(self, answer: Answer) -> str:
        """Returns an answer as a string, for a file that a server scores."""
        return str(answer[self.main_part])

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes files that help to understand the model's errors."""

    # The SavedModel.

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        """Returns the functions of the SavedModel, by name.

        `serving_default` has an argument for each text field of the task, named
        like the field.
        """
        self._lacks("signatures")

    def id_signature(self, model: keras.Model) -> Signature:
        """Returns the signature that takes ids instead of strings."""
        return id_signature(model)

    def description(self) -> dict[str, Any]:
        """Returns further entries of the SavedModel's description, by name.

        `export_finetuned` adds them to `assets/model.json`, which servers read.
        """
        return {}

    def label_ids(self) -> dict[str, int]:
        """Returns a mapping from the names of labels to their ids."""
        return {label: i for i, label in enumerate(self.spec.labels)}

    def string_inputs(self) -> list[tf.TensorSpec]:
        """Returns the specification of each text field, strings [B]."""
        fields = self.spec.text_fields
        return [tf.TensorSpec([None], tf.string, field) for field in fields]

    @classmethod
    def _lacks(cls, name: str) -> NoReturn:
        raise InputError(f"The kind {cls.__name__} has no {name}; define it.")

    def _check(self) -> None:
        fields, labels = self.spec.text_fields, self.spec.labels
        numbers = self.num_text_fields
        counts = f"has {' or '.join(map(str, numbers))} text_fields"
        two = "needs at least two labels"
        once = "has labels that all differ"
        no_empty = "has tags that are not empty"
        differ = "has text_fields that all differ"
        for is_right, what, given in (
            (len(fields) in numbers, counts, fields),
            (len(set(fields)) == len(fields), differ, fields),
            (len(set(labels)) == len(labels), once, labels),
            (all(labels) or not self.tags_words, no_empty, labels),
            (len(labels) > 1 or not self.has_labels, two, labels),
            (self.has_labels or not labels, "has no labels", labels),
        ):
            if not is_right:
                raise InputError(
                    f"A task of the kind {self.name} {what}, but this one has "
                    f"{given}."
                )
        if unknown := [x for x in self.spec.metrics if x not in self.metrics]:
            raise InputError(
                f"The kind {self.name} has no metric {unknown[0]!r}; choose "
                f"from {', '.join(self.metrics)}."
            )


def text_preprocessor(
    settings: KindSettings, tokenizer: BertTokenizer
) -> BertPreprocessor:
    """Returns the preprocessor, with windows if the settings ask for them."""
    windows: dict[str, Any] = {}
    if isinstance(settings, WindowSettings) and settings.in_windows:
        windows["doc_stride"] = settings.doc_stride
        windows["max_num_windows"] = settings.max_num_windows
    return BertPreprocessor(tokenizer, settings.max_seq_length, **windows)


# All kinds that this process has defined, by name.
KINDS: dict[str, type[Kind]] = {}
