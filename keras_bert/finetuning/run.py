"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.adapters import (
    ADAPTERS_FILE,
    BaseModel,
    is_stored_with_adapters,
)
from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.heads import heads_of
from keras_bert.checkpoints.load import heads_in, load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.adaptation import (
    adapt,
    check_adaptation,
    learning_rate_factors,
)
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.distillation import (
    check_distillation,
    distill,
)
from keras_bert.finetuning.encoding import encode_rows, encoded_folder
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.finetuned_model import (
    FinetunedModel,
    finetuned_folder,
    is_finetuned,
    sidecars,
)
from keras_bert.finetuning.fingerprint import finetuning_fingerprint
from keras_bert.finetuning.prediction_files import (
    write_predictions,
    write_submission,
)
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import whole_folder, write_json
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.spec import (
    build_kind,
    find_spec,
    make_spec,
)
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.registry import get_task
from keras_bert.tasks.tfds_reader import read_tfds
from keras_bert.training.distribution import (
    get_strategy,
    is_chief,
    precision,
)
from keras_bert.training.run_files.best import Selection
from keras_bert.training.run_files.checkpoint import every_weight, find_damage
from keras_bert.training.trainer import start_over, train


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
) -> dict[str, float]:
    """Fine-tunes on a task, or resumes where an earlier call stopped.

    A call resumes only a run with the same rows, task, settings and initial
    weights, and refuses to continue any other.

    Args:
        task: A `Task`, or an argument of `get_task`: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: Gets `checkpoints/`; `best/`, the checkpoint with the best
            first metric of the task; `history.csv`, `curves.png`; and for the
            best checkpoint `eval_results.json`, `predictions.jsonl`, the
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
        task, task_name = get_task(task), _without_folders(str(task))
    config = FinetuningConfig.checked(config)
    output_dir = to_path(output_dir)
    data_dir = to_path(data_dir)
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
    if not isinstance(settings or {}, Mapping):
        raise InputError(
            f"The settings are {settings!r:.80}, but must be a dict such as "
            '{"max_seq_length": 64}.'
        )
    settings = dict(settings or {})
    if config.num_train_epochs:
        found = _inherited_settings(task, checkpoint, bert_config)
        settings = {**found, **task.settings, **settings}
    else:
        found = _settings_of_model(task, checkpoint, bert_config)
        settings = {**found, **settings}
    kind = build_kind(make_spec(task, settings), tokenizer, bert_config)
    check_distillation(teacher, kind, config)
    if config.num_train_epochs:
        kind, train_rows = _read_train_rows(kind, read, bert_config)

    def build_model():
        model = kind.build_model(bert_config)
        if checkpoint:
            load_checkpoint(model, checkpoint)
        return model

    def build_adapted_model():
        model = build_model()
        adapt(model, config)
        return model

    evaluations = {
        split: Evaluation(
            kind, list(read(split)), batch_size=config.eval_batch_size
        )
        for split in task.validation_splits
    }
    if config.num_train_epochs:
        train_set = encode_rows(
            kind, train_rows, encoded_folder(output_dir, cache_dir)
        )
        base = None
        if checkpoint and config.lora_rank:
            base = BaseModel.of(checkpoint, config.alpha)
        if overwrite_output_dir:
            start_over(output_dir, strategy)
        evaluation = evaluations[task.validation_splits[0]]
        model, figures = _train(
            build_adapted_model,
            train_set,
            kind,
            Selection(
                lambda model: evaluation(model, tune=True)[1],
                task.metrics[0],
                config.early_stopping_patience,
            ),
            strategy=strategy,
            bert_config=bert_config,
            config=config,
            output_dir=output_dir,
            training={
                # The folders mean nothing on another machine.
                "task": task_name,
                "data": data_dir.name,
                "checkpoint": checkpoint and _without_folders(str(checkpoint)),
                "num_train_examples": int(train_set.rows[-1]) + 1,
                **_named_teacher(teacher),
            },
            base=base,
            teach=distill(teacher, kind, config) if teacher else None,
            fingerprint=finetuning_fingerprint(
                kind,
                bert_config,
                config,
                train_set=train_set,
                evaluations=evaluations,
                checkpoint=checkpoint,
                teacher=teacher,
            ),
        )
        if not is_chief(strategy):
            return figures
        if base:  # the result has the adapters in its kernels
            with precision(config.precision):
                model = kind.build_model(bert_config)
        _load_best(model, output_dir)
    else:
        with precision(config.precision):
            model = build_model()
        _check_is_whole(model, checkpoint)
    results = _evaluate(model, kind, evaluations, output_dir)
    finetuned = FinetunedModel(model, kind, bert_config)
    _predict_test_sets(finetuned, task, read, output_dir)
    return results


def _load_best(model, output_dir):
    folder = whole_folder(output_dir / "best")
    if damage := find_damage(folder):
        raise InputError(
            f"{folder} cannot be used: {damage}; start over with "
            "overwrite_output_dir."
        )
    load_checkpoint(model, folder)


def _read_train_rows(kind, read, bert_config):
    """Returns the kind, with the settings that follow from the rows, and them.

    The rows may be an iterator, which a kind reads to the end for this.
    """
    rows = read("train")
    if learned := kind.settings_from_data(rows):
        changed = dataclasses.replace(kind.spec.settings, **learned)
        spec = dataclasses.replace(kind.spec, settings=changed)
        kind = build_kind(spec, kind.tokenizer, bert_config)
    return kind, rows if isinstance(rows, Sequence) else read("train")


def _train(
    build_model,
    train_set,
    kind,
    selection,
    *,
    strategy,
    bert_config,
    config,
    output_dir,
    training,
    base,
    teach,
    fingerprint,
):
    steps_per_epoch = math.ceil(
        len(train_set.lengths) / config.train_batch_size
    )
    num_train_steps = max(1, round(steps_per_epoch * config.num_train_epochs))
    interval = config.save_checkpoints_steps or steps_per_epoch
    training = {
        **training,
        "num_train_steps": num_train_steps,
        "config": dataclasses.asdict(config),
    }
    files = sidecars(kind, bert_config, training)
    if base:
        files[ADAPTERS_FILE] = base.to_json()
    return train(
        build_model,
        lambda step, share: training_batches(
            train_set,
            batch_size=config.train_batch_size,
            num_epochs=math.ceil(config.num_train_epochs),
            seed=config.random_seed,
            first_batch=step,
            share=share,
            static_shapes=config.distribution_strategy == "tpu",
            by_length=kind.batches_by_length,
        ),
        None,
        objectives=kind.training_objectives,
        count_work=kind.work_counter(bert_config),
        num_train_steps=num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        strategy=strategy,
        config=dataclasses.replace(config, save_checkpoints_steps=interval),
        output_dir=output_dir,
        sidecars=files,
        fingerprint=fingerprint,
        selection=selection,
        holds=is_stored_with_adapters if base else every_weight,
        learning_rate_factors=learning_rate_factors(
            config, bert_config.num_hidden_layers
        ),
        teach=teach,
    )


def _named_teacher(teacher):
    return {"teacher": _without_folders(str(teacher))} if teacher else {}


def _without_folders(name):
    """Returns the name of a file; names of tasks and hf:// keep their /."""
    is_path = ".py" in name or Path(name).exists()
    return Path(name).name if is_path else name


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


def _check_is_whole(model, checkpoint):
    """Raises InputError if a layer of the model is not in the checkpoint."""
    heads = heads_of(weight.path for weight in model.weights)
    if absent := sorted(heads - heads_in(checkpoint)):
        raise InputError(
            f"{checkpoint} has no {absent[0]}, so the model cannot be "
            "evaluated as it is; train it, or choose settings without this "
            "layer."
        )


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
