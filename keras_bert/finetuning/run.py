"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.load import load_whole
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.data import plain
from keras_bert.finetuning.encoding import encode_rows, encoded_folder
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.finetuning.folder import (
    finetuned_checkpoint,
    name_without_folders,
    write_model_card,
)
from keras_bert.finetuning.training import Start, train_kind
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, whole_folder, write_json
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
    weights, and refuses to continue any other.

    Args:
        task: A `Task`, or an argument of `get_task`: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: Gets `checkpoints/`; `best/`, the checkpoint with the best
            first metric of the task; `history.csv`; and for the best
            checkpoint `eval_results.json`, `predictions.jsonl`, the
            reports of the kind and the predictions for the test sets.
        checkpoint: The pre-trained weights, any checkpoint that
            `load_checkpoint` takes; None starts from random weights. The
            rows of an output layer that has the labels of the task in another
            order are put into the order of the task. With 0
            epochs, a fine-tuned model, or a pre-trained one if the kind of the
            task adds no output layer.
        bert_config: The network; by default the one beside the weights.
        vocab_file: The vocabulary; by default the one beside the weights.
        config: Learning rate, batch size, epochs and so on.
        settings: Settings of the kind of task, such as `max_seq_length`, that
            replace the settings of the task.
        cache_dir: A local folder for the encoded training set, which is read
            from there in every epoch and by later runs; by default `encoded`
            in output_dir. Runs, also at the same time, can share a folder.
        teacher: A fine-tuned model of the same task and vocabulary, whose
            outputs the network learns besides the labels; see the config's
            `distillation_weight`.
        new_head: Whether to train a new output layer on the encoder of the
            checkpoint, which has one for other labels.
        overwrite_output_dir: Whether to start over if there is a run in
            output_dir. A command that may be interrupted and repeated must
            not have it.
        callbacks: Callbacks of Keras, such as loggers. Their epoch is the
            interval between two checkpoints, by default a pass over the
            training set; see `keras_bert.training.callbacks`.

    Returns:
        The task's metrics and `loss` on the first validation split. The names
        of the metrics on further splits begin with the split. With several
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
    is_trained = config.num_train_epochs > 0
    if (teacher or new_head) and not is_trained:
        raise InputError(
            "With num_train_epochs=0 nothing is trained; leave the "
            f"{'teacher' if teacher else 'new_head'} out."
        )
    # First of all: workers must find each other before TensorFlow is used.
    strategy = get_strategy(config)
    found = checkpoint and Checkpoint.of(checkpoint)
    bert_config, tokenizer = load_config_and_tokenizer(
        found,
        bert_config=bert_config,
        vocab_file=vocab_file,
        do_lower_case=config.do_lower_case,
    )
    settings = _settings(task, settings, is_trained, found, bert_config)
    kind = build_kind(make_spec(task, settings), tokenizer, bert_config)
    # The folders mean nothing on another machine.
    origin = {"task": task_name, "data": data_dir.name}
    origin["checkpoint"] = name_without_folders(checkpoint)
    if teacher:
        origin["teacher"] = name_without_folders(teacher)
    start = Start(
        bert_config=bert_config,
        config=config,
        checkpoint=checkpoint,
        teacher=teacher,
        new_head=new_head,
        origin=origin,
    )
    start.check(kind)
    if is_trained:
        rows = read_split(task, data_dir, "train")
        kind = start.learn_settings(kind, rows)
    evaluations = {
        split: Evaluation(kind, held_out, batch_size=config.eval_batch_size)
        for split in task.validation_splits
        if (held_out := _read_held_out(task, data_dir, split)) is not None
    }
    if is_trained:
        rows = read_split(task, data_dir, "train")
        trained = train_kind(
            kind,
            encode_rows(kind, rows, encoded_folder(output_dir, cache_dir)),
            evaluations,
            start,
            strategy=strategy,
            output_dir=output_dir,
            callbacks=callbacks,
            starts_over=overwrite_output_dir,
        )
        if not is_chief(strategy):
            return trained.history.last
        model = trained.model
    else:
        with precision(config.precision):
            model = kind.build_model(bert_config)
        assert found  # `_settings` has looked at it
        load_whole(model, found)
    results = _evaluate(model, kind, evaluations, output_dir, tune=is_trained)
    if is_trained:
        best = whole_folder(output_dir / "best")
        write_model_card(best, model, kind, bert_config)
    finetuned = FinetunedModel(model, kind, bert_config)
    _predict_test_sets(finetuned, task, data_dir, output_dir)
    return results


def read_split(task: Task, data_dir: Path, split: str) -> Iterable[Row]:
    """Returns the rows of a split, which must have some."""
    rows = iter(task.read(data_dir, split))
    for first in rows:
        return itertools.chain([first], rows)
    raise InputError(
        f"The reader of the task found no rows of the split {split} in "
        f"{data_dir}."
    )


def _read_held_out(task, data_dir, split):
    """Returns the rows of a split; None if it is a test set that is missing."""
    try:
        return list(read_split(task, data_dir, split))
    except FileNotFoundError as error:
        if split.startswith("validation"):
            raise
        logging.info("A test set is left out: %s", error)
        return None


def _settings(task, settings, is_trained, checkpoint, bert_config):
    """Returns the settings of a kind: the user's, the task's, the model's.

    Training takes only the kind's `inherited_settings` of a model. Raises
    InputError if the model is evaluated and is not one of this task.
    """
    if not isinstance(settings or {}, Mapping):
        raise InputError(
            f"The settings are {settings!r:.80}, but must be a dict such as "
            '{"max_seq_length": 64}.'
        )
    kind = get_kind(task.kind)
    found: dict[str, Any] = {}
    needs_model = not is_trained and (kind.hub.heads or not checkpoint)
    if needs_model or (checkpoint and has_spec(checkpoint)):
        finetuned = finetuned_checkpoint(checkpoint)
        spec = find_spec(finetuned, bert_config)
        if is_trained:
            names = kind.inherited_settings if spec.kind == task.kind else ()
            found = {name: getattr(spec.settings, name) for name in names}
        elif (spec.kind, spec.labels) == (task.kind, task.labels):
            found = dataclasses.asdict(spec.settings)
        else:
            raise InputError(
                f"{finetuned.folder} is a model for {spec.kind} {spec.labels}, "
                f"but the task is {task.kind} {task.labels}; give a model of "
                "this task."
            )
    if is_trained and checkpoint:
        defaults = kind.settings_from_checkpoint(checkpoint)
        found = {**defaults, **found, **task.settings}
    length = kind.Settings.max_seq_length
    length = min(length, bert_config.max_position_embeddings)
    defaults = {"max_seq_length": length, **task.settings}
    return {**defaults, **found, **(settings or {})}


def _evaluate(model, kind, evaluations, output_dir, *, tune):
    """Writes and returns the metrics; writes the first split's answers."""
    evaluation, *_ = evaluations.values()
    answers, results = evaluation(model, tune=tune)
    for split, other in list(evaluations.items())[1:]:
        _, metrics = other(model)
        results |= {f"{split}_{name}": x for name, x in metrics.items()}
    write_json(output_dir / "eval_results.json", results)
    _write_predictions(
        output_dir / "predictions.jsonl", evaluation.rows, answers
    )
    kind.write_reports(output_dir, evaluation.rows, answers)
    return results


def _predict_test_sets(finetuned, task, data_dir, output_dir):
    for split, file in task.test_files.items():
        rows = _read_held_out(task, data_dir, split)
        if rows is None:
            continue
        answers = finetuned.predict(rows)
        file = output_dir / file
        _write_predictions(file.with_suffix(".jsonl"), rows, answers)
        # As the GLUE server takes them.
        with atomic_path(file) as path, path.open("w", encoding="utf-8") as tsv:
            tsv.write("index\tprediction\n")
            for i, answer in enumerate(answers):
                tsv.write(f"{i}\t{finetuned.kind.submission(answer)}\n")


def _write_predictions(file, rows, answers):
    """Writes each row with its answer as JSON lines; its label is `gold`."""
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as lines:
        for row, answer in zip(rows, answers, strict=True):
            names = {} if "gold" in row else {"label": "gold"}
            row = {names.get(x, x): y for x, y in plain(row).items()}
            answer = with_answer(row, answer)
            line = json.dumps(answer, ensure_ascii=False, default=str)
            lines.write(f"{line}\n")
