"""Rows, a kind and a checkpoint -> a fine-tuned model in a folder."""

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints import adapters
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import (
    load_checkpoint,
    load_to_train,
    load_whole,
)
from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning import adaptation
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.distillation import check_distillation, distill
from keras_bert.finetuning.encoding import encode_rows, encoded_folder
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.folder import origin_of, sidecars
from keras_bert.finetuning.label_order import label_places, reorder
from keras_bert.io.whole_files import whole_folder
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import build_kind
from keras_bert.tasks.base import Row
from keras_bert.training.best import Selection, best_of
from keras_bert.training.checkpoint import every_weight
from keras_bert.training.distribution import is_chief, precision
from keras_bert.training.fingerprint import Fingerprint, digest_of
from keras_bert.training.history import History
from keras_bert.training.history import Row as HistoryRow
from keras_bert.training.objectives import BatchObjective
from keras_bert.training.run import train
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.setup import TrainingSetup

# Pairs of a split and its rows; one split at a time is read.
HeldOut = Iterable[tuple[str, Sequence[Row]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Start:
    """The initial weights and the settings of a fine-tuning run.

    Attributes:
        bert_config: The config of the encoder.
        tokenizer: The tokenizer of the model.
        config: The settings of the training.
        checkpoint: The initial weights; None for random weights.
        teacher: A fine-tuned model whose outputs the network learns; None
            without a teacher.
        new_head: Whether the output layer starts from random weights even if
            the checkpoint has one.
        origin: The task, data, checkpoint and teacher for `training.json`.
    """

    bert_config: BertConfig
    tokenizer: Any = None
    config: FinetuningConfig = FinetuningConfig()
    checkpoint: str | Path | None = None
    teacher: str | Path | None = None
    new_head: bool = False
    origin: Mapping[str, Any] = dataclasses.field(default_factory=origin_of)

    def __post_init__(self) -> None:
        if not self.config.num_train_epochs and (self.teacher or self.new_head):
            raise InputError(
                "With num_train_epochs=0 nothing is trained; leave the "
                f"{'teacher' if self.teacher else 'new_head'} out."
            )

    def check(self, kind: Kind) -> None:
        """Raises InputError if the settings or weights do not fit the kind."""
        adaptation.check_adaptation(
            self.config, self.bert_config, self.checkpoint
        )
        check_distillation(self.teacher, kind, self.bert_config, self.config)
        if self.checkpoint:  # `label_places` checks the labels
            checkpoint = Checkpoint.of(self.checkpoint)
            label_places(kind, checkpoint, self.bert_config, self.new_head)

    def learn_settings(self, kind: Kind, rows: Iterable[Row]) -> Kind:
        """Returns the kind with the settings that are derived from the rows."""
        learned = kind.settings_from_data(rows)
        if not learned:
            return kind
        settings = dataclasses.replace(kind.spec.settings, **learned)
        spec = dataclasses.replace(kind.spec, settings=settings)
        return build_kind(spec, kind.tokenizer, self.bert_config)

    def build_model(
        self, kind: Kind, load: Callable[..., None] = load_checkpoint
    ) -> keras.Model:
        """Returns the network with its initial weights."""
        model = kind.build_model(self.bert_config)
        if self.checkpoint:
            checkpoint, new_head = Checkpoint.of(self.checkpoint), self.new_head
            places = label_places(kind, checkpoint, self.bert_config, new_head)
            load(model, checkpoint, new_head=new_head)
            if places:
                reorder(model, kind, checkpoint, places)
        return model

    def initial_network(self, kind: Kind) -> keras.Model:
        """Returns the network to train, with its dropout and adaptation."""
        start, rate = self, self.config.dropout_rate
        if rate is not None:
            bert_config = dataclasses.replace(
                self.bert_config,
                hidden_dropout_prob=rate,
                attention_probs_dropout_prob=rate,
            )
            start = dataclasses.replace(self, bert_config=bert_config)
        model = start.build_model(kind, load_to_train)
        adaptation.adapt(model, self.config)
        return model


@dataclasses.dataclass(frozen=True)
class FinetunedNetwork:
    """A fine-tuned network with its kind and its evaluations.

    Attributes:
        model: The network.
        kind: The kind, with the settings derived from the training rows.
        evaluations: The evaluations on held-out rows, by split.
    """

    model: keras.Model
    kind: Kind
    evaluations: Mapping[str, Evaluation]


def train_kind(
    kind: Kind,
    read_rows: Callable[[], Iterable[Row]],
    held_out: HeldOut,
    start: Start,
    *,
    strategy: tf.distribute.Strategy,
    output_dir: Path,
    cache_dir: str | Path | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    starts_over: bool = False,
    ends_at_interrupt: bool = False,
) -> tuple[FinetunedNetwork, History]:
    """Returns a trained network and its history; writes the network to `best/`.

    The first held-out split chooses the best model by the first metric of the
    task; without such a split, the result is the model of the last step. Of
    several workers, only the chief returns the weights of the result.

    Everything that needs no rows is checked before the first row is read.
    """
    start.check(kind)
    kind, config = start.learn_settings(kind, read_rows()), start.config
    evaluations = evaluations_of(kind, held_out, config)
    if config.early_stopping_patience and not evaluations:
        raise InputError(
            f"early_stopping_patience is {config.early_stopping_patience}, "
            "but there are no validation rows to decide when to stop; give "
            "some, or leave early_stopping_patience out."
        )
    encoded = encoded_folder(output_dir, cache_dir)
    examples = encode_rows(kind, read_rows(), encoded)
    num_batches = math.ceil(len(examples.lengths) / config.train_batch_size)
    num_steps = max(1, round(num_batches * config.num_train_epochs))
    _warn_of_single_rows(kind, examples, config)
    sources = [x for x in (start.checkpoint, start.teacher) if x]
    folder = RunFolder(
        path=output_dir,
        strategy=strategy,
        sidecars=_sidecars(kind, examples, start, num_steps),
        fingerprint=_fingerprint(kind, examples, evaluations, start),
        weight_filter=adapters.is_stored_with_adapters
        if config.lora_rank
        else every_weight,
        starts_over=starts_over,
        sources=[Checkpoint.of(x).folder for x in sources],
    )
    model, history = train(
        _setup(kind, examples, evaluations, start, num_batches, num_steps),
        folder,
        callbacks,
        ends_at_interrupt=ends_at_interrupt,
    )
    if is_chief(strategy):
        best, step = whole_folder(folder.best), history.last["step"]
        # A call that finds a finished run keeps the result: a callback may
        # have restored weights that the last checkpoint does not have.
        is_kept = evaluations or best_of(best)["step"] == step
        if not (is_kept and best.is_dir()):
            folder.write_best(model, {"step": step, "score": None})
            best = folder.best
        # Like the saved model when it is loaded, the result has any adapters
        # merged into its kernels, and computes in float32.
        if config.lora_rank or config.precision != "float32":
            with precision("float32"):
                model = kind.build_model(start.bert_config)
        load_whole(model, best)
    return FinetunedNetwork(model, kind, evaluations), history


def evaluations_of(
    kind: Kind, held_out: HeldOut, config: FinetuningConfig
) -> dict[str, Evaluation]:
    """Returns an evaluation for each held-out split, with encoded rows."""
    return {
        split: Evaluation(kind, rows, batch_size=config.eval_batch_size)
        for split, rows in held_out
    }


def _setup(
    kind: Kind,
    examples: Examples,
    evaluations: Mapping[str, Evaluation],
    start: Start,
    num_batches: int,
    num_steps: int,
) -> TrainingSetup:
    config = start.config
    interval = config.save_checkpoints_steps or num_batches

    def build_model() -> keras.Model:
        model = start.initial_network(kind)
        if not evaluations:  # no rows to tune the values for the new weights
            kind.reset_tuned(model)
        return model

    return TrainingSetup(
        config=dataclasses.replace(config, save_checkpoints_steps=interval),
        build_model=build_model,
        objectives=kind.training_objectives,
        count_work=kind.work_counter(start.bert_config),
        learning_rate_factors=adaptation.learning_rate_factors(
            config, start.bert_config.num_hidden_layers
        ),
        distill=functools.partial(
            distill, teacher=start.teacher, kind=kind, config=config
        )
        if start.teacher
        else None,
        num_train_steps=num_steps,
        num_warmup_steps=int(num_steps * config.warmup_proportion),
        train_batches=lambda step, share: training_batches(
            examples,
            batch_size=config.train_batch_size,
            num_epochs=math.ceil(config.num_train_epochs),
            seed=config.random_seed,
            first_batch=step,
            share=share,
            static_shapes=config.distribution_strategy == "tpu",
            by_length=kind.batches_by_length,
        ),
        selection=_selection(kind, evaluations, config),
    )


def _warn_of_single_rows(
    kind: Kind, examples: Examples, config: FinetuningConfig
) -> None:
    batch_size = min(config.train_batch_size, len(examples.lengths))
    losses = kind.training_objectives.values()
    if batch_size < 2 and any(isinstance(x, BatchObjective) for x in losses):
        logging.warning(
            "The loss compares the rows of a batch, but each batch has only "
            "one row, so little or nothing is learned; give more rows and a "
            "larger train_batch_size."
        )


def _sidecars(
    kind: Kind, examples: Examples, start: Start, num_steps: int
) -> dict[str, str]:
    training = {
        **start.origin,
        "num_train_examples": int(examples.rows[-1]) + 1,
        "num_train_steps": num_steps,
        "config": dataclasses.asdict(start.config),
    }
    texts = sidecars(kind, start.bert_config, training)
    if start.config.lora_rank:
        assert start.checkpoint  # `check_adaptation` has checked it
        base = adapters.BaseModel.of(start.checkpoint, start.config.alpha)
        texts[adapters.ADAPTERS_FILE] = base.to_json()
    return texts


def _selection(
    kind: Kind, evaluations: Mapping[str, Evaluation], config: FinetuningConfig
) -> Selection | None:
    if not evaluations:
        return None
    evaluation, *_ = evaluations.values()
    metric = kind.spec.metrics[0]

    def evaluate(model: keras.Model) -> Mapping[str, float]:
        metrics = evaluation(model, tune=True)[1]
        if math.isnan(metrics[metric]):
            logging.warning(
                "The metric %s of the validation rows is not a number, so "
                "it cannot show which model is best; give more validation "
                "rows, whose labels are not all the same.",
                metric,
            )
        return metrics

    return Selection(evaluate, metric, config.early_stopping_patience)


def _fingerprint(
    kind: Kind,
    examples: Examples,
    evaluations: Mapping[str, Evaluation],
    start: Start,
) -> Fingerprint:
    """Returns the fingerprint of a run.

    Training rows are hashed after they are encoded, and validation rows before.
    """
    spec = dataclasses.asdict(kind.spec)
    digests = {
        "training rows as encoded": _digest_of_examples(examples),
        "validation rows": digest_of(
            *(
                json.dumps(list(x.rows), sort_keys=True, default=repr)
                for x in evaluations.values()
            )
        ),
        "vocabulary": digest_of(*kind.tokenizer.rules),
        "settings of the tokenizer": digest_of(repr(kind.tokenizer.settings)),
        "network": digest_of(start.bert_config.to_json()),
    }
    for name, checkpoint in (
        ("initial weights", start.checkpoint),
        ("teacher", start.teacher),
    ):
        digests[name] = fingerprint_of(checkpoint) if checkpoint else ""
    if start.new_head:
        digests["initial output layer"] = "new"
    settings = start.config.fixed_settings() | spec.pop("settings") | spec
    return Fingerprint(settings, digests)


def _digest_of_examples(examples: Examples) -> str:
    parts: list[Any] = []
    for tensors in (examples.features, examples.labels, examples.weights):
        for name, tensor in sorted(tensors.items()):
            parts.append(f"{name} {tensor.dtype.name}")
            parts += map(
                np.ascontiguousarray,
                tf.nest.flatten(tensor, expand_composites=True),
            )
    return digest_of(*parts)


def history_of(
    rows: Iterable[HistoryRow], model: keras.Model
) -> keras.callbacks.History:
    """Returns a Keras history; training metrics are means over each epoch."""
    history = keras.callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    first_step: float = 0
    parts: list[HistoryRow] = []
    for row in rows:
        parts.append(row)
        if "minutes" not in row:  # not the end of an interval
            continue
        steps = np.diff([first_step, *(part["step"] for part in parts)])
        means = {
            name: float(np.average([x[name] for x in parts], weights=steps))
            for name in set(row).intersection(*parts)
            - {"step", "learning_rate"}
            if len(parts) > 1
        }
        logs = {name: means.get(name, value) for name, value in row.items()}
        history.on_epoch_end(len(history.epoch), logs)
        first_step, parts = row["step"], []
    return history
