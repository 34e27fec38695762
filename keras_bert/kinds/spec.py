"""Finds the task of a model, and builds the kind that the task describes."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json, to_json
from keras_bert.kinds.fields import check_text_fields
from keras_bert.kinds.hub_config import HubConfig
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.registry import get_kind, known_kinds
from keras_bert.kinds.settings import KindSettings
from keras_bert.tasks.base import Task
from keras_bert.text.tokenizer import BertTokenizer

_TASK_TYPES = {"kind": str, "settings": dict} | dict.fromkeys(
    ("text_fields", "labels", "metrics"), list
)
# Settings that kinds once had, with the values that had no effect.
_OLD_SETTINGS = {"bilstm_size": 0, "features": ""}


def make_spec(task: Task, settings: Mapping[str, Any]) -> TaskSpec:
    """Returns the spec of a task; `settings` override the task's own.

    Raises InputError for a setting that the kind does not have, or a text field
    that cannot be exported.
    """
    check_text_fields(task.text_fields)
    return TaskSpec(
        kind=task.kind,
        text_fields=tuple(task.text_fields),
        settings=make_settings(task.kind, {**task.settings, **settings}),
        labels=tuple(task.labels),
        metrics=tuple(task.metrics),
    )


def make_settings(kind: str, values: Mapping[str, Any]) -> KindSettings:
    """Returns the settings of a kind, with its defaults for missing values.

    Raises InputError for a setting that the kind does not have.
    """
    settings_class = get_kind(kind).Settings
    known = [field.name for field in dataclasses.fields(settings_class)]
    if unknown := [name for name in values if name not in known]:
        raise InputError(
            f"The kind {kind} has no setting {unknown[0]!r}; its settings are "
            f"{', '.join(known)}."
        )
    return settings_class(**values)


def has_spec(checkpoint: Checkpoint) -> bool:
    """Returns whether the files beside the weights name the model's task."""
    return bool(checkpoint.task) or _kind_of(checkpoint) is not None


def find_spec(checkpoint: Checkpoint, bert_config: BertConfig) -> TaskSpec:
    """Returns the spec of a model for which `has_spec` is true.

    The spec is read from `task.json` or from the files of another library.

    Raises InputError if the model has something that this package does not
    have.
    """
    if checkpoint.task:
        return read_spec(checkpoint.folder / "task.json")
    kind = _kind_of(checkpoint)
    assert kind is not None
    hub, config = kind.hub, HubConfig(checkpoint)
    settings = kind.Settings(**hub.read_settings(config, bert_config))
    if hub.activations:
        config.activation(*hub.activations)
        values = config.cross_encoder
        name = values["default_prompt_name"]
        if prompt := (values["prompts"] or {}).get(name):
            raise InputError(
                f"{checkpoint.folder} puts the prompt {prompt!r} before the "
                f"first text, but the kind {kind.name} has no prompts; set "
                "default_prompt_name to null in config_sentence_transformers."
                "json, and write the prompt into the texts."
            )
    return TaskSpec(
        kind.name,
        hub.text_fields,
        settings,
        labels=(hub.labels or config.labels) if kind.has_labels else (),
        metrics=tuple(kind.metrics)[: hub.has_metric],
    )


def _kind_of(checkpoint: Checkpoint) -> type[Kind] | None:
    """Returns the kind of a model from another library; None if unknown."""
    config = HubConfig(checkpoint)
    if not (name := config.architecture):
        return None
    kinds = [
        kind
        for kind in known_kinds().values()
        if name
        in (kind.hub.architecture, *(x.architecture for x in kind.hub.heads))
        and kind.hub.problem_type in (None, config.problem_type)
    ]
    # A kind of the user's own may be a subclass of the kind that is meant.
    return min(kinds, key=lambda kind: len(kind.__mro__), default=None)


def settings_of(
    checkpoint: Checkpoint,
    bert_config: BertConfig,
    kind: type[Kind],
    values: Mapping[str, Any],
) -> Any:
    """Returns the `kind.Settings` of a model; `values` override them.

    A pre-trained model gets the defaults of the kind, but reads no more tokens
    than its tokenizer and network take.

    Raises InputError if the model is of another kind, or a setting is wrong.
    """
    if has_spec(checkpoint):
        spec = find_spec(checkpoint, bert_config)
        if spec.kind != kind.name:
            raise InputError(
                f"{checkpoint.folder} is a model of the kind {spec.kind}; give "
                f"a model of the kind {kind.name}, or a pre-trained model."
            )
        values = {**dataclasses.asdict(spec.settings), **values}
    else:
        length = kind.Settings.max_seq_length
        length = checkpoint.longest_sequence(bert_config, length)
        values = {"max_seq_length": length, **values}
    settings = make_settings(kind.name, values)
    bert_config.check_max_seq_length(settings.max_seq_length)
    return settings


def read_spec(file: Path) -> TaskSpec:
    """Returns the spec in a `task.json`; raises InputError if it is damaged."""
    values = read_task_file(file)
    kind = get_kind(values["kind"])
    settings = {
        name: value
        for name, value in values["settings"].items()
        if hasattr(kind.Settings, name) or _OLD_SETTINGS.get(name) != value
    }
    values["settings"] = make_settings(kind.name, settings)
    return TaskSpec(**values)


def read_task_file(file: Path) -> dict[str, Any]:
    """Returns the values in a `task.json`, even if its kind is unknown here.

    Raises InputError if the file is damaged.
    """
    values = read_json(file)
    for name in {**_TASK_TYPES, **values}:
        if not isinstance(values.get(name), _TASK_TYPES.get(name, ())):
            raise InputError(
                f"{file} has {name} {values.get(name)!r:.80}, but must have a "
                "kind, settings, and the lists text_fields, labels and "
                "metrics; copy the file again."
            )
    lists = {name: x for name, x in values.items() if isinstance(x, list)}
    return values | {name: tuple(map(str, x)) for name, x in lists.items()}


def spec_to_json(spec: TaskSpec) -> str:
    """Returns the text of a `task.json`."""
    return to_json(dataclasses.asdict(spec))


def build_kind(
    spec: TaskSpec, tokenizer: BertTokenizer, bert_config: BertConfig
) -> Kind:
    """Returns an instance of a task's kind, for a tokenizer and a network.

    Raises InputError if the task does not fit its kind or the network.
    """
    bert_config.check_max_seq_length(spec.settings.max_seq_length)
    kind = get_kind(spec.kind)(spec, tokenizer)
    has_pairs = len(spec.text_fields) == max(kind.num_text_fields) == 2
    segment = tokenizer.settings.second_segment
    if has_pairs and segment >= bert_config.type_vocab_size > 0:
        raise InputError(
            f"The second text of a pair has the segment {segment}, but the "
            f"network has a type_vocab_size of {bert_config.type_vocab_size}; "
            "give a network with a type_vocab_size of 2."
        )
    return kind
