"""A kind and a checkpoint -> a task, and what a model for it starts from."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.folder import changed_spec, origin_of
from keras_bert.finetuning.label_order import label_places, load_in_order
from keras_bert.finetuning.task_rows import TaskRows
from keras_bert.finetuning.training import Start
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.spec import build_kind, find_spec, has_spec


@dataclasses.dataclass(frozen=True)
class TaskStart:
    """A task, and the checkpoint that a model for it starts from.

    Attributes:
        rows: The task, and how its rows are read.
        tokenizer: The tokenizer of the model.
        checkpoint: The initial weights; None if the model came with its own.
        new_head: Whether the output layer starts from random weights even if
            the checkpoint has one.
    """

    rows: TaskRows
    tokenizer: Any
    checkpoint: str | Path | None = None
    new_head: bool = False

    def build_model(self, kind: Kind, bert_config: BertConfig) -> keras.Model:
        """Returns the network, with the weights of the checkpoint."""
        assert self.checkpoint
        model, checkpoint = kind.build_model(bert_config), self.checkpoint
        network = kind, Checkpoint.of(checkpoint), bert_config, self.new_head
        load_in_order(load_checkpoint, model, *network)
        return model

    def to_train(
        self, bert_config: BertConfig, config: FinetuningConfig
    ) -> Start:
        """Returns what a training of the network starts from."""
        return Start(
            bert_config=bert_config,
            config=config,
            checkpoint=self.checkpoint,
            new_head=self.new_head,
            origin=origin_of(self.checkpoint),
        )


def start_from_checkpoint(
    kind_class: type[Kind],
    checkpoint: str | Path,
    *,
    labels: Sequence | None,
    text_fields: Sequence[str] | None,
    settings: Mapping[str, Any],
    usual_fields: tuple[str, ...],
    usual_metrics: tuple[str, ...],
    do_lower_case: bool | None,
    new_head: bool,
) -> tuple[Kind | None, BertConfig, TaskStart]:
    """Returns what `FinetunedModel.from_pretrained` makes a model of.

    The kind is None as long as its labels are not known. Texts without names
    get the `usual_fields`, a task without metrics the `usual_metrics`.
    """
    pretrained = Checkpoint.of(checkpoint)
    bert_config, tokenizer = load_config_and_tokenizer(
        pretrained, do_lower_case=do_lower_case
    )
    spec = find_spec(pretrained, bert_config) if has_spec(pretrained) else None
    if spec is None or spec.kind != kind_class.name:
        shortest = usual_fields[: kind_class.num_text_fields[0]]
        spec = TaskSpec(kind_class.name, shortest, kind_class.Settings())
        length = spec.settings.max_seq_length
        length = min(length, bert_config.max_position_embeddings)
        defaults = kind_class.settings_from_checkpoint(pretrained)
        settings = {**defaults, "max_seq_length": length, **settings}
    elif new_head:
        spec = dataclasses.replace(spec, labels=(), metrics=())
    elif labels is not None:  # in another order, or to be checked
        spec = dataclasses.replace(spec, labels=())
    is_usual = spec.text_fields == usual_fields[: len(spec.text_fields)]
    learned = usual_fields if text_fields is None and is_usual else None
    spec = changed_spec(spec, labels, text_fields, settings)
    spec = dataclasses.replace(spec, metrics=spec.metrics or usual_metrics)
    kind = None
    if spec.labels or not kind_class.has_labels:
        kind = build_kind(spec, tokenizer, bert_config)
        label_places(kind, pretrained, bert_config, new_head)
    rows = TaskRows(spec, learned)
    return kind, bert_config, TaskStart(rows, tokenizer, checkpoint, new_head)
