"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
from absl import logging

from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.adaptation import check_adaptation
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.distillation import check_distillation
from keras_bert.finetuning.engine import Engine
from keras_bert.finetuning.evaluation import (
    Evaluation,
    write_predictions,
    write_submission,
)
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.finetuning.folder import (
    finetuned_folder,
    is_finetuned,
    name_without_folders,
)
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import write_json
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.spec import build_kind, find_spec, make_spec
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.registry import get_task
from keras_bert.tasks.tfds_reader import read_tfds
from keras_bert.training.distribution import get_strategy, is_chief


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
    overwrite_output_dir: bool = False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> dict[str, float]:
    """Fine-tunes on a task, or resumes where an earlier call stopped.

    A call resumes only a run with the same rows, task, settings and initial
    weights, and refuses to continue any other.

    Args:
        task: A `Task`, or an argument of `get_task`: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: Gets `checkpoints/`; `best/`, the checkpoint with the best
            first metric of the task; `history.csv`; and for the best
            checkpoint `eval_results.json`, `predictions.jsonl`, the
            reports of the kind and the predictions for the test sets.
        checkpoint: The pre-trained weights, any checkpoint that
            `load_checkpoint` takes; None starts from random weights. With 0
            epochs, a fine-tuned model, or a pre-trained one if the kind of the
            task adds no output layer.
        bert_config: The network; by default the one beside the weights.
        vocab_file: The vocabulary; by default the one beside the weights.
        config: Learning rate, batch size, epochs and so on.
        settings: Settings of the kind of task, such as `max_seq_length`, that
            replace those of the task.
        cache_dir: A local folder for the encoded training set, which is read
            from there in every epoch and by later runs; by default `encoded`
            in output_dir. Runs, also at the same time, can share a folder.
        teacher: A fine-tuned model of the same task and vocabulary, whose
            outputs the network learns besides the labels; see the config's
            `distillation_weight`.
        overwrite_output_dir: Whether to start over if there is a run in
            output_dir. A command that may be interrupted and repeated must
            not have it.
        callbacks: Callbacks of Keras, such as loggers. Their epoch is the
            interval between two checkpoints, by default a pass over the
            training set; see `keras_bert.training.callbacks`.

    Returns:
        The task's metrics and `loss` on the first validation split; those of
        further splits have the name of the split before them. With several
        workers, only the chief evaluates the best checkpoint and writes files;
        the other workers return the last row of the history.

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
        task, task_name = get_task(task), name_without_folders(task)
    config = FinetuningConfig.checked(config)
    output_dir, data_dir = to_path(output_dir), to_path(data_dir)
    check_output_dir(output_dir)
    if teacher and not config.num_train_epochs:
        raise InputError(
            "With num_train_epochs=0 nothing is trained; leave the teacher out."
        )
    # First of all: workers must find each other before TensorFlow is used.
    strategy = get_strategy(config)
    read = reader(task, data_dir, config.data_source)
    bert_config, tokenizer = load_config_and_tokenizer(
        checkpoint,
        bert_config=bert_config,
        vocab_file=vocab_file,
        do_lower_case=config.do_lower_case,
    )
    check_adaptation(config, bert_config, checkpoint)
    settings = _settings(task, settings, config, checkpoint, bert_config)
    kind = build_kind(make_spec(task, settings), tokenizer, bert_config)
    check_distillation(teacher, kind, config)
    engine = Engine(kind, bert_config, config, checkpoint, teacher)
    rows: Iterable[Row] = ()
    if config.num_train_epochs:
        engine, rows = engine.with_learned_settings(lambda: read("train"))
    evaluations = {
        split: Evaluation(
            engine.kind, list(read(split)), batch_size=config.eval_batch_size
        )
        for split in task.validation_splits
    }
    if config.num_train_epochs:
        run = engine.train(
            rows,
            evaluations,
            task.metrics[0],
            strategy=strategy,
            output_dir=output_dir,
            cache_dir=cache_dir,
            origin={
                # The folders mean nothing on another machine.
                "task": task_name,
                "data": data_dir.name,
                "checkpoint": name_without_folders(checkpoint),
                "teacher": name_without_folders(teacher),
            },
            callbacks=callbacks,
            starts_over=overwrite_output_dir,
        )
        if not is_chief(strategy):
            return run.history.last
        model = engine.load_best(output_dir, run.model)
    else:
        model = engine.load_finetuned()
    results = _evaluate(model, engine.kind, evaluations, output_dir)
    finetuned = FinetunedModel(model, engine.kind, bert_config)
    _predict_test_sets(finetuned, task, read, output_dir)
    return results


def _settings(task, settings, config, checkpoint, bert_config):
    """Returns the settings of a kind: the user's, the task's, the model's."""
    if not isinstance(settings or {}, Mapping):
        raise InputError(
            f"The settings are {settings!r:.80}, but must be a dict such as "
            '{"max_seq_length": 64}.'
        )
    if config.num_train_epochs:
        inherited = _inherited_settings(task, checkpoint, bert_config)
        return {**inherited, **task.settings, **(settings or {})}
    found = _settings_of_model(task, checkpoint, bert_config)
    return {**found, **(settings or {})}


def _evaluate(model, kind, evaluations, output_dir):
    """Writes and returns the metrics; writes the first split's answers."""
    evaluation, *_ = evaluations.values()
    answers, results = evaluation(model)
    for split, other in list(evaluations.items())[1:]:
        _, figures = other(model)
        results |= {f"{split}_{name}": x for name, x in figures.items()}
    write_json(output_dir / "eval_results.json", results)
    write_predictions(
        output_dir / "predictions.jsonl", evaluation.rows, answers
    )
    kind.write_reports(output_dir, evaluation.rows, answers)
    return results


def reader(
    task: Task, data_dir: Path, data_source: str
) -> Callable[[str], Iterable[Row]]:
    """Returns a function that reads a split, which must have rows."""

    def read(split):
        if data_source == "tfds":
            rows = read_tfds(task, data_dir, split)
        else:
            rows = task.read(data_dir, split)
        if isinstance(rows, Sequence):
            first_rows = rows[:1]
        else:
            rows = iter(rows)
            first_rows = list(itertools.islice(rows, 1))
            rows = itertools.chain(first_rows, rows)
        if not first_rows:
            raise InputError(
                f"The reader of the task found no rows of the split {split} "
                f"in {data_dir}."
            )
        return rows

    return read


def _settings_of_model(task, checkpoint, bert_config):
    """Returns the settings that a fine-tuned model was trained with.

    There are none for a pre-trained model, which is an answer if the kind has
    no output layer. Raises InputError if it is not a model of this task.
    """
    if (
        checkpoint
        and not get_kind(task.kind).head_names
        and not is_finetuned(checkpoint)
    ):
        return {}
    folder = finetuned_folder(checkpoint)
    spec = find_spec(folder, bert_config)
    if (spec.kind, spec.labels) != (task.kind, task.labels):
        raise InputError(
            f"{folder} is a model for {spec.kind} {spec.labels}, but the task "
            f"is {task.kind} {task.labels}; give a model of this task."
        )
    return dataclasses.asdict(spec.settings)


def _inherited_settings(task, checkpoint, bert_config):
    """Returns what training keeps of the model that it starts from."""
    if not (checkpoint and is_finetuned(checkpoint)):
        return {}
    spec = find_spec(finetuned_folder(checkpoint), bert_config)
    if spec.kind != task.kind:
        return {}
    names = get_kind(task.kind).inherited_settings
    return {name: getattr(spec.settings, name) for name in names}


def _predict_test_sets(finetuned, task, read, output_dir):
    for split, file in task.test_files.items():
        try:
            rows = list(read(split))
        except FileNotFoundError as error:
            logging.info("No predictions for a test set: %s", error)
            continue
        answers = finetuned.predict(rows)
        path = output_dir / file
        write_predictions(path.with_suffix(".jsonl"), rows, answers)
        write_submission(path, finetuned.kind, answers)
