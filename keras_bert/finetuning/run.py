"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning import folder, training
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.data import plain
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import (
    atomic_path,
    remove,
    whole_folder,
    write_json,
)
from keras_bert.kinds.hub_config import HubConfig
from keras_bert.kinds.kind import Answer
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.spec import build_kind, find_spec, has_spec, make_spec
from keras_bert.predict.request_lines import with_answer
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.registry import get_task
from keras_bert.training.distribution import get_strategy, is_chief, precision


@shown_log()
def finetune(
    task: str | Task,
    data_dir: str | Path,
    output_dir: str | Path,
    *,
    checkpoint: str | Path | None = None,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    config: FinetuningConfig | None = None,
    settings: Mapping[str, Any] | None = None,
    cache_dir: str | Path | None = None,
    teacher: str | Path | None = None,
    new_head: bool = False,
    overwrite_output_dir: bool = False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> dict[str, float]:
    """Fine-tunes on a task, or resumes where an earlier call stopped.

    A call resumes only a run with the same rows, task, settings and initial
    weights, and refuses to continue any other run.

    Args:
        task: A `Task`, or an argument of `get_task`: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: A folder for the results: `checkpoints/`; `best/`, the
            checkpoint with the best first metric of the task; `history.csv`;
            and, from the best checkpoint, `eval_results.json`,
            `predictions.jsonl`, the reports of the kind and the predictions for
            the test sets.
        checkpoint: The pre-trained weights, any checkpoint that
            `load_checkpoint` takes; None starts from random weights. If the
            checkpoint's output layer has the labels of the task in another
            order, the rows of the layer are put into the order of the task.
            With 0 epochs, the checkpoint must be a fine-tuned model, or a
            pre-trained model if the kind of the task adds no output layer.
        bert_config: The config of the network; by default, the config beside
            the weights.
        vocab_file: The vocabulary; by default, the vocabulary beside the
            weights.
        config: The learning rate, batch size, epochs and so on.
        settings: Settings of the kind of task, such as `max_seq_length`, that
            replace the settings of the task.
        cache_dir: A local folder for the encoded training set, which every
            epoch and later runs read; by default, `encoded` in output_dir.
            Several runs can share a folder, even at the same time.
        teacher: A fine-tuned model of the same task, whose outputs the network
            learns besides the labels; see the config's `distillation_weight`.
            The teacher's vocabulary must contain all pieces of the network's
            vocabulary.
        new_head: Whether to train a new output layer, because the checkpoint
            has an output layer for other labels.
        overwrite_output_dir: Whether to start over if output_dir already
            contains a run. Leave this argument out of a command that may be
            interrupted and repeated.
        callbacks: Keras callbacks, such as loggers. Their epoch is the interval
            between two checkpoints, by default one pass over the training set;
            see `keras_bert.training.callbacks`.

    Returns:
        The task's metrics and `loss` on the first validation split. The metrics
        on further splits have names that begin with the name of the split. With
        several workers, only the chief evaluates the best checkpoint and writes
        files; the other workers return the last row of the history.

    Example:
        >>> metrics = keras_bert.finetune(
        ...     "glue/sst2",
        ...     "sst2",
        ...     "output",
        ...     checkpoint="pretrained",
        ...     config=keras_bert.FinetuningConfig(num_train_epochs=1),
        ...     settings={"max_seq_length": 16},
        ... )
        >>> sorted(metrics)
        ['accuracy', 'loss']
    """
    task_name = None
    if not isinstance(task, Task):
        task, task_name = get_task(task), task
    config = FinetuningConfig.checked(config)
    output_dir, data_dir = to_path(output_dir), to_path(data_dir)
    check_output_dir(output_dir)
    # First of all: workers must find each other before TensorFlow is used.
    strategy = get_strategy(config)
    pretrained = Checkpoint.of(checkpoint) if checkpoint else None
    bert_config, tokenizer = load_config_and_tokenizer(
        pretrained,
        bert_config=bert_config,
        vocab_file=vocab_file,
        do_lower_case=config.do_lower_case,
    )
    start = training.Start(
        bert_config=bert_config,
        tokenizer=tokenizer,
        config=config,
        checkpoint=checkpoint,
        teacher=teacher,
        new_head=new_head,
        origin=folder.origin_of(checkpoint, task_name, data_dir.name, teacher),
    )
    settings = settings or {}
    if not isinstance(settings, Mapping):
        raise InputError(
            f"The settings are {settings!r:.80}, but must be a dict such as "
            '{"max_seq_length": 64}.'
        )
    of_checkpoint = (
        _settings_to_train(task, settings, pretrained, bert_config)
        if config.num_train_epochs
        else _settings_to_evaluate(task, pretrained, bert_config)
    )
    spec = make_spec(task, {**of_checkpoint, **settings})
    kind = build_kind(spec, tokenizer, bert_config)
    held_out = _read_held_out(task, data_dir, task.validation_splits)
    if config.num_train_epochs:
        finetuned, history = training.train_kind(
            kind,
            lambda: _read_split(task, data_dir, "train"),
            held_out,
            start,
            strategy=strategy,
            output_dir=output_dir,
            cache_dir=cache_dir,
            callbacks=callbacks,
            starts_over=overwrite_output_dir,
        )
        if not is_chief(strategy):
            return history.last
    else:
        assert pretrained  # `_settings_to_evaluate` has checked it
        start.check(kind)
        evaluations = training.evaluations_of(kind, held_out, config)
        with precision(config.precision):
            model = folder.load_network(kind, bert_config, pretrained)
        finetuned = training.FinetunedNetwork(model, kind, evaluations)
    return _write_results(finetuned, task, data_dir, output_dir, start)


def _read_split(task: Task, data_dir: Path, split: str) -> Iterable[Row]:
    """Returns the rows of a split; raises InputError if there are none."""
    rows = task.read(data_dir, split)
    rows = iter(() if rows is None else rows)  # None: without a return
    for first in rows:
        return itertools.chain([first], rows)
    raise InputError(
        f"The reader of the task found no rows of the split {split} in "
        f"{data_dir}."
    )


def _read_held_out(
    task: Task, data_dir: Path, splits: Iterable[str]
) -> Iterator[tuple[str, list[Row]]]:
    """Yields each split and its rows; skips a missing test set.

    The first of the `validation_splits` is required, even if it is a test set.
    """
    for split in splits:
        try:
            yield split, list(_read_split(task, data_dir, split))
        except FileNotFoundError as error:
            is_first = split in task.validation_splits[:1]
            if is_first or split.startswith("validation"):
                raise
            logging.info("A test set is skipped: %s", error)


def _settings_to_train(
    task: Task,
    given: Mapping[str, Any],
    checkpoint: Checkpoint | None,
    bert_config: BertConfig,
) -> dict[str, Any]:
    """Returns all settings, with defaults that suit the checkpoint.

    `given` contains the settings that replace the task's. A checkpoint of the
    task's kind passes on only the `inherited_settings` of the kind.
    """
    kind = get_kind(task.kind)
    settings = {**task.settings, **given}
    if checkpoint and has_spec(checkpoint):
        spec = find_spec(checkpoint, bert_config)
        names = kind.inherited_settings if spec.kind == task.kind else ()
        inherited = {name: getattr(spec.settings, name) for name in names}
        settings = {**inherited, **settings}
    return folder.with_defaults(settings, kind, checkpoint, bert_config)


def _settings_to_evaluate(
    task: Task, checkpoint: Checkpoint | None, bert_config: BertConfig
) -> dict[str, Any]:
    """Returns the settings of a model that is evaluated as it is.

    Raises InputError if there is no such model, or if the model has another
    task.
    """
    has_head = bool(get_kind(task.kind).hub.heads)
    if checkpoint and not has_head and not has_spec(checkpoint):
        # A pre-trained model has all weights that the kind needs.
        return _settings_to_train(task, {}, None, bert_config)
    model = folder.finetuned_checkpoint(checkpoint)
    spec = find_spec(model, bert_config)
    if (spec.kind, spec.labels) != (task.kind, task.labels):
        raise InputError(
            f"{model.folder} is a model for {spec.kind} {spec.labels}, but "
            f"the task is {task.kind} {task.labels}; give a model of this "
            "task, or rename the model's labels with load_finetuned(..., "
            "labels=...) and save the model."
        )
    if not model.task:
        # The task has the settings that the files of another library lack.
        hub = get_kind(spec.kind).hub
        return hub.read_settings(HubConfig(model), bert_config)
    fields, of_task = spec.text_fields, tuple(task.text_fields)
    is_swapped = fields != of_task and {*fields} == {*of_task}
    if has_head and (len(fields) != len(of_task) or is_swapped):
        raise InputError(
            f"{model.folder} reads the fields {', '.join(fields)}, but the "
            f"task has {', '.join(of_task)}; give a model of this task."
        )
    return dataclasses.asdict(spec.settings)


def _write_results(
    finetuned: training.FinetunedNetwork,
    task: Task,
    data_dir: Path,
    output_dir: Path,
    start: training.Start,
) -> dict[str, float]:
    """Writes metrics, answers and the model card; returns the metrics."""
    is_trained = start.config.num_train_epochs > 0
    model, kind = finetuned.model, finetuned.kind
    (_, evaluation), *others = finetuned.evaluations.items()
    answers, results = evaluation(model, tune=is_trained)
    for split, other in others:
        _, metrics = other(model)
        results |= {f"{split}_{name}": x for name, x in metrics.items()}
    write_json(output_dir / "eval_results.json", results)
    _write_predictions(
        output_dir / "predictions.jsonl", evaluation.rows, answers
    )
    kind.write_reports(output_dir, evaluation.rows, answers)
    if is_trained:
        best = whole_folder(output_dir / "best")
        folder.write_model_card(best, model, kind, start.bert_config)
    public = FinetunedModel(model, kind, start.bert_config)
    for name in task.test_files.values():  # of an earlier run
        remove(output_dir / name)
        remove((output_dir / name).with_suffix(".jsonl"))
    for split, rows in _read_held_out(task, data_dir, task.test_files):
        answers = public.predict(rows)
        file = output_dir / task.test_files[split]
        _write_predictions(file.with_suffix(".jsonl"), rows, answers)
        # The file has the format that the GLUE server takes.
        with atomic_path(file) as path, path.open("w", encoding="utf-8") as tsv:
            tsv.write("index\tprediction\n")
            for i, answer in enumerate(answers):
                tsv.write(f"{i}\t{kind.submission(answer)}\n")
    return results


def _write_predictions(
    file: Path, rows: Sequence[Row], answers: Sequence[Answer]
) -> None:
    """Writes each row and its answer as a JSON line; `gold` is the label."""
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as lines:
        for row, answer in zip(rows, answers, strict=True):
            names = {} if "gold" in row else {"label": "gold"}
            row = {names.get(x, x): y for x, y in plain(row).items()}
            answer = with_answer(row, answer)
            line = json.dumps(answer, ensure_ascii=False, default=str)
            lines.write(f"{line}\n")
