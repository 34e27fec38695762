"""A folder of a fine-tuned model <-> its kind, network and training facts."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_whole
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError, is_list
from keras_bert.export.model_card import finetuned_card, write_card
from keras_bert.family_configs import family_of
from keras_bert.io.whole_files import read_json, to_json
from keras_bert.kinds.fields import check_text_list
from keras_bert.kinds.hub_config import HubConfig
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.spec import (
    build_kind,
    find_spec,
    has_spec,
    make_settings,
    spec_to_json,
)
from keras_bert.training.best import best_of

_TRAINING = "training.json"


def read_kind(
    path: str | Path | None,
    labels: Sequence | None = None,
    text_fields: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Kind, BertConfig, Checkpoint]:
    """Returns a fine-tuned checkpoint, with its kind and encoder config.

    Raises InputError if the checkpoint is not a fine-tuned model.
    """
    checkpoint = finetuned_checkpoint(path)
    bert_config, tokenizer = load_config_and_tokenizer(checkpoint)
    spec = find_spec(checkpoint, bert_config)
    spec = changed_spec(spec, labels, text_fields, settings)
    return build_kind(spec, tokenizer, bert_config), bert_config, checkpoint


def load_network(
    kind: Kind, bert_config: BertConfig, checkpoint: Checkpoint
) -> keras.Model:
    """Returns a kind's network, with all its weights from the checkpoint."""
    model = kind.build_model(bert_config)
    load_whole(model, checkpoint)
    return model


def changed_spec(
    spec: TaskSpec,
    labels: Sequence | None,
    text_fields: Sequence[str] | None,
    settings: Mapping[str, Any] | None,
) -> TaskSpec:
    """Returns a spec with the changes that are not None.

    Labels become strings.

    Raises InputError if a change has a wrong form.
    """
    if isinstance(text_fields, str):
        text_fields = [text_fields]
    changes: dict[str, Any] = {}
    for name, names in (("labels", labels), ("text_fields", text_fields)):
        if names is None:
            continue
        # Labels may be numbers.
        given = [str(x) for x in names] if is_list(names) else names
        changes[name] = check_text_list(given, name)
    fields = changes.get("text_fields", ())
    if len({"label", *fields}) <= len(fields):
        raise InputError(
            f"The text_fields are {fields}; all names must differ, and none "
            "may be 'label'."
        )
    new = changes.get("labels", spec.labels)
    if spec.labels and len(new) != len(spec.labels):
        raise InputError(
            f"The labels are {new}, but the model has {len(spec.labels)}: "
            f"{spec.labels}; give a name for each of these labels, in this "
            "order."
        )
    for name, names in changes.items():
        of_model = getattr(spec, name)
        if sorted(names) == sorted(of_model) and names != of_model:
            raise InputError(
                f"The {name} are {names}, but the model has them in the order "
                f"{of_model}; leave them out, or give new names in this order."
            )
    if settings:
        values = dataclasses.asdict(spec.settings) | dict(settings)
        changes["settings"] = make_settings(spec.kind, values)
    return dataclasses.replace(spec, **changes)


def with_defaults(
    given: Mapping[str, Any],
    kind: type[Kind],
    checkpoint: Checkpoint | None,
    bert_config: BertConfig,
) -> dict[str, Any]:
    """Returns the given settings, and defaults of the kind for other settings.

    Some defaults depend on the network and the checkpoint.
    """
    length = kind.Settings.max_seq_length
    length = min(length, bert_config.max_position_embeddings)
    settings = {"max_seq_length": length}
    if checkpoint:
        settings |= kind.settings_from_checkpoint(
            checkpoint, bert_config, given
        )
    return {**settings, **given}


def is_finetuned(path: str | Path) -> bool:
    """Returns whether `load_finetuned` can load a checkpoint.

    Raises FileNotFoundError if there is no checkpoint.

    Example:
        >>> keras_bert.finetuning.is_finetuned("finetuned")
        True
        >>> keras_bert.finetuning.is_finetuned("pretrained")
        False
    """
    return has_spec(Checkpoint.of(path))


def finetuned_checkpoint(path: str | Path | Checkpoint | None) -> Checkpoint:
    """Returns the checkpoint of a fine-tuned model.

    Raises InputError if the checkpoint is not a fine-tuned model.
    """
    if not path:
        raise InputError(
            f"The model is {path!r}, but must be a path; give the output_dir "
            "of keras-bert finetune, or a Hub folder."
        )
    checkpoint = Checkpoint.of(path)
    if has_spec(checkpoint):
        return checkpoint
    config = HubConfig(checkpoint)
    family_of(config.values)  # refuses an unknown family
    names = config.values.get("architectures") or [config.architecture]
    raise InputError(
        f"{checkpoint.folder} has no task.json, and its config.json names "
        f"the architecture {names[0]!r}, so it is not a fine-tuned model: "
        "train it with finetune, or take the hidden states from "
        "load_pretrained, the vectors from load_embedder or the guesses for "
        "[MASK] from keras_bert.export.load_mask_filler."
    )


def sidecars(
    kind: Kind, bert_config: BertConfig, training: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the text files beside a model's weights: name -> text."""
    return {
        "bert_config.json": bert_config.to_json(),
        "task.json": spec_to_json(kind.spec),
        _TRAINING: to_json(training),
        **kind.tokenizer.sidecars(bert_config.max_position_embeddings),
    }


def read_training(folder: Path) -> dict[str, Any]:
    """Returns the values of `training.json`, and the final metrics if known.

    `finetune` writes the final metrics of the best checkpoint when it ends.
    Raises InputError if a file is damaged.
    """
    training = read_json(folder / _TRAINING, is_needed=False)
    results = folder.parent / "eval_results.json"
    if folder.name == "best" and results.is_file():
        training["metrics"] = read_json(results)
    if not isinstance(training.get("metrics", {}), dict):
        raise InputError(
            f"{folder / _TRAINING} has metrics {training['metrics']!r:.80}, "
            "but `metrics` must be an object that maps names to numbers; copy "
            "the file again, or remove the file."
        )
    return training


def write_model_card(
    folder: Path, model: keras.Model, kind: Kind, bert_config: BertConfig
) -> dict[str, Any]:
    """Writes a model card; returns the facts about the model's training.

    If `finetune` wrote no metrics, the card shows the best checkpoint's score.
    """
    training = read_training(folder)
    score = best_of(folder)["score"]
    if score is not None:
        training.setdefault("metrics", {kind.spec.metrics[0]: score})
    card = finetuned_card(folder, model, kind, bert_config, training)
    write_card(folder, card)
    return training


def origin_of(
    checkpoint: Any = None,
    task: Any = None,
    data: str | None = None,
    teacher: Any = None,
) -> dict[str, str | None]:
    """Returns the task, data, checkpoint and teacher for `training.json`.

    Folders in the paths are left out: they mean nothing on another machine.
    """
    origin = {
        "task": _without_folders(task),
        "data": data,
        "checkpoint": _without_folders(checkpoint),
    }
    if teacher:
        origin["teacher"] = _without_folders(teacher)
    return origin


def _without_folders(name: Any) -> str | None:
    """Returns the last part of a path; a task name or hf:// URL stays whole."""
    if not name:
        return None
    is_path = ".py" in str(name) or Path(name).exists()
    return Path(name).name if is_path else str(name)
