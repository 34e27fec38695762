"""Rows, a kind and a network -> a fine-tuned model in a folder."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints import adapters
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_to_train, load_whole
from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.config import BertConfig
from keras_bert.finetuning import adaptation
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.distillation import check_distillation, distill
from keras_bert.finetuning.encoding import encode_rows, encoded_folder
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.folder import sidecars
from keras_bert.finetuning.label_order import label_places, load_in_order
from keras_bert.io.whole_files import whole_folder
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import build_kind
from keras_bert.tasks.base import Row
from keras_bert.training.best import Selection
from keras_bert.training.checkpoint import every_weight
from keras_bert.training.distribution import precision
from keras_bert.training.fingerprint import Fingerprint, digest_of
from keras_bert.training.history import Row as FigureRow
from keras_bert.training.objectives import BatchObjective
from keras_bert.training.run import Plan, Run, Trainee


@dataclasses.dataclass(frozen=True)
class Engine:
    """Trains a network for a kind of task; knows no data set.

    Raises InputError if the parts do not fit together.

    Attributes:
        kind: Encodes rows, builds the network and scores its answers.
        bert_config: The encoder.
        config: How it is trained.
        checkpoint: The initial weights, or None.
        teacher: A fine-tuned model whose outputs the network learns, or None.
        new_head: Whether the output layer starts from random weights even if
            the checkpoint has one.
    """

    kind: Kind
    bert_config: BertConfig
    config: FinetuningConfig
    checkpoint: str | Path | None = None
    teacher: str | Path | None = None
    new_head: bool = False

    def __post_init__(self):
        adaptation.check_adaptation(
            self.config, self.bert_config, self.checkpoint
        )
        check_distillation(
            self.teacher, self.kind, self.bert_config, self.config
        )
        if self.checkpoint:  # it checks the labels
            start = Checkpoint.of(self.checkpoint)
            label_places(self.kind, start, self.bert_config, self.new_head)

    def with_learned_settings(self, rows: Iterable[Row]) -> Self:
        """Returns an engine with the settings that follow from the rows."""
        learned = self.kind.settings_from_data(rows)
        if not learned:
            return self
        settings = dataclasses.replace(self.kind.spec.settings, **learned)
        spec = dataclasses.replace(self.kind.spec, settings=settings)
        kind = build_kind(spec, self.kind.tokenizer, self.bert_config)
        return dataclasses.replace(self, kind=kind)

    def start(
        self,
        rows: Iterable[Row],
        evaluations: Mapping[str, Evaluation],
        *,
        strategy: tf.distribute.Strategy,
        output_dir: Path,
        origin: Mapping[str, Any],
        cache_dir: str | Path | None = None,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        starts_over: bool = False,
    ) -> Run:
        """Returns a run on labeled rows, which keeps its best model as `best/`.

        The first of the evaluations, by split, chooses the best model by the
        first metric of the task; without one, nothing is kept. `origin` says
        where task, rows and weights come from.
        """
        config = self.config
        examples = encode_rows(
            self.kind, rows, encoded_folder(output_dir, cache_dir)
        )
        batch_size = min(config.train_batch_size, len(examples.lengths))
        losses = self.kind.training_objectives.values()
        if batch_size < 2 and any(
            isinstance(x, BatchObjective) for x in losses
        ):
            logging.warning(
                "The loss compares the rows of a batch, but a batch has one "
                "row, so little or nothing is learned; give more rows and a "
                "larger train_batch_size."
            )
        num_batches = math.ceil(len(examples.lengths) / config.train_batch_size)
        num_steps = max(1, round(num_batches * config.num_train_epochs))
        training = {
            **origin,
            "num_train_examples": int(examples.rows[-1]) + 1,
            "num_train_steps": num_steps,
            "config": dataclasses.asdict(config),
        }
        files = sidecars(self.kind, self.bert_config, training)
        if self.config.lora_rank:
            assert self.checkpoint  # `check_adaptation` has looked at it
            base = adapters.BaseModel.of(self.checkpoint, config.alpha)
            files[adapters.ADAPTERS_FILE] = base.to_json()
        return Run(
            self._trainee(),
            Plan(
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
                    by_length=self.kind.batches_by_length,
                ),
                selection=self._selection(evaluations),
            ),
            strategy=strategy,
            config=dataclasses.replace(
                config,
                save_checkpoints_steps=config.save_checkpoints_steps
                or num_batches,
            ),
            output_dir=output_dir,
            sidecars=files,
            fingerprint=self._fingerprint(examples, evaluations),
            callbacks=callbacks,
            starts_over=starts_over,
        )

    def load_best(self, output_dir: Path, model: keras.Model) -> keras.Model:
        """Loads the best weights of a run into its model, and returns it.

        If the run trained adapters, it is a model with these in its kernels.
        """
        folder = whole_folder(output_dir / "best")
        if self.config.lora_rank:
            with precision(self.config.precision):
                model = self.kind.build_model(self.bert_config)
        load_whole(model, folder)
        return model

    def initial_model(self) -> keras.Model:
        """Returns the network that is trained, with its initial weights."""
        bert_config, rate = self.bert_config, self.config.dropout_rate
        if rate is not None:
            bert_config = dataclasses.replace(
                bert_config,
                hidden_dropout_prob=rate,
                attention_probs_dropout_prob=rate,
            )
        model = self.kind.build_model(bert_config)
        if self.checkpoint:
            start = Checkpoint.of(self.checkpoint)
            network = self.kind, start, self.bert_config, self.new_head
            load_in_order(load_to_train, model, *network)
        adaptation.adapt(model, self.config)
        return model

    def _teach(self, model):
        return distill(model, self.teacher, self.kind, self.config)

    def _selection(self, evaluations):
        if not evaluations:
            return None
        evaluation, *_ = evaluations.values()
        metric = self.kind.spec.metrics[0]

        def evaluate(model):
            figures = evaluation(model, tune=True)[1]
            if math.isnan(figures[metric]):
                logging.warning(
                    "The metric %s of the validation rows is not a number, so "
                    "it cannot choose the best model; give more rows, whose "
                    "labels differ.",
                    metric,
                )
            return figures

        return Selection(
            evaluate,
            metric,
            self.config.early_stopping_patience,
        )

    def _trainee(self):
        return Trainee(
            build_model=self.initial_model,
            objectives=self.kind.training_objectives,
            count_work=self.kind.work_counter(self.bert_config),
            learning_rate_factors=adaptation.learning_rate_factors(
                self.config, self.bert_config.num_hidden_layers
            ),
            holds=adapters.is_stored_with_adapters
            if self.config.lora_rank
            else every_weight,
            teach=self._teach if self.teacher else None,
        )

    def _fingerprint(self, examples, evaluations):
        """Returns the fingerprint of a run.

        The training rows count as the network sees them, the validation rows
        as they are read.
        """
        tokenizer = self.kind.tokenizer
        spec = dataclasses.asdict(self.kind.spec)
        digests = {
            "training rows as encoded": _digest_of_examples(examples),
            "validation rows": digest_of(
                *(text_of_rows(e.rows) for e in evaluations.values())
            ),
            "vocabulary": digest_of(*tokenizer.vocab),
            "settings of the tokenizer": digest_of(repr(tokenizer.settings)),
            "network": digest_of(self.bert_config.to_json()),
        }
        for name, checkpoint in (
            ("initial weights", self.checkpoint),
            ("teacher", self.teacher),
        ):
            digests[name] = fingerprint_of(checkpoint) if checkpoint else ""
        if self.new_head:
            digests["initial output layer"] = "new"
        return Fingerprint(
            self.config.fixed_settings() | spec.pop("settings") | spec, digests
        )


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


def text_of_rows(rows: Iterable[Row]) -> str:
    """Returns rows as a text that is the same in every process."""
    return json.dumps(list(rows), sort_keys=True, default=repr)


def history_of(
    rows: Iterable[FigureRow], model: keras.Model
) -> keras.callbacks.History:
    """Returns the figures of each epoch; figures of training are means."""
    history = keras.callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    first_step: float = 0
    parts: list[FigureRow] = []
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
