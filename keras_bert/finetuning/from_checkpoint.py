"""A kind and a checkpoint -> a task, and what a model for it starts from."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.finetuning.folder import changed_spec, origin_of
from keras_bert.finetuning.label_order import label_places
from keras_bert.finetuning.task_rows import TaskRows
from keras_bert.finetuning.training import Start
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.spec import build_kind, find_spec, has_spec


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
) -> tuple[Kind | None, TaskRows, Start]:
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
    start = Start(
        bert_config=bert_config,
        tokenizer=tokenizer,
        checkpoint=checkpoint,
        new_head=new_head,
        origin=origin_of(checkpoint),
    )
    return kind, TaskRows(spec, learned), start
