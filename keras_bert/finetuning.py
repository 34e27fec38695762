"""A task and a pre-trained model -> a fine-tuned model and its figures."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

from absl import logging

from keras_bert.atomic import atomic_path
from keras_bert.checkpoints.casing import warn_of_other_case
from keras_bert.checkpoints.find import checkpoint_folder, config_beside
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.data.finetuning import (
    encode_examples,
    encode_labels,
    evaluation_batches,
    training_batches,
)
from keras_bert.finetuned import FinetunedModel, TaskSpec
from keras_bert.reports import write_confusion_matrix, write_predictions
from keras_bert.tasks import get_task
from keras_bert.tasks.base import Task
from keras_bert.tasks.metrics import METRICS
from keras_bert.training.config import TrainConfig
from keras_bert.training.losses import accuracy, cross_entropy, squared_error
from keras_bert.training.trainer import train
from keras_bert.training.training_model import Objective


@dataclasses.dataclass(frozen=True)
class FinetuningConfig(TrainConfig):
    """A fine-tuning run; defaults as in google-research/bert.

    Attributes:
        num_train_epochs: How often the training set is gone through.
        warmup_proportion: Share of the steps in which the rate rises.
        max_seq_length: Longer texts are cut, the longer of a pair first.
    """

    learning_rate: float = 5e-5
    save_checkpoints_steps: int = 500
    num_train_epochs: float = 3.0
    warmup_proportion: float = 0.1
    max_seq_length: int = 128


def finetune(
    task: str | Task,
    data_dir: str | Path,
    output_dir: str | Path,
    *,
    init_checkpoint: str | Path | None = None,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    do_lower_case: bool = True,
    config: FinetuningConfig | None = None,
) -> dict[str, float]:
    """Fine-tunes on a task, or goes on where an earlier call stopped.

    Args:
        task: A `Task`, or what `get_task` takes: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: Gets `checkpoints/`, `history.csv`, `curves.png`,
            `eval_results.json`, `predictions.jsonl` and `.tsv`, in a
            classification `confusion_matrix.png`, and, where there is a test
            set, `test_predictions.jsonl` and `.tsv`.
        init_checkpoint: The pre-trained weights, whatever `load_checkpoint`
            takes; without, random ones.
        bert_config: The network; by default the one beside the weights.
        vocab_file: Its word pieces; by default those beside the weights.
        do_lower_case: Whether the vocabulary is uncased.
        config: Rates, sizes and epochs.

    Returns:
        The task's metrics on the validation set, and its `loss`.
    """
    task = get_task(task) if isinstance(task, str) else task
    config = config or FinetuningConfig()
    output_dir = Path(output_dir)
    bert_config, vocab_file = _beside(init_checkpoint, bert_config, vocab_file)
    if init_checkpoint:
        warn_of_other_case(init_checkpoint, do_lower_case)
    spec = TaskSpec(
        head=task.head,
        labels=task.labels,
        text_fields=task.text_fields,
        max_seq_length=config.max_seq_length,
        do_lower_case=do_lower_case,
    )
    preprocessor = spec.build_preprocessor(vocab_file, bert_config)
    _, train_set = _read(task, data_dir, "train", preprocessor)
    rows, validation_set = _read(task, data_dir, "validation", preprocessor)
    steps_per_epoch = math.ceil(
        len(train_set.lengths) / config.train_batch_size
    )
    num_train_steps = max(1, round(steps_per_epoch * config.num_train_epochs))
    is_classification = task.head == "classification"

    def build_model():
        model = spec.build_model(bert_config)
        if init_checkpoint:
            load_checkpoint(model, init_checkpoint)
        return model

    model, figures = train(
        build_model,
        training_batches(
            train_set,
            batch_size=config.train_batch_size,
            num_epochs=math.ceil(config.num_train_epochs),
            seed=config.random_seed,
        ).skip,
        evaluation_batches(validation_set, batch_size=config.eval_batch_size)[
            0
        ],
        objectives={
            "logits": Objective(cross_entropy, {"accuracy": accuracy})
            if is_classification
            else Objective(squared_error)
        },
        num_train_steps=num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        config=config,
        output_dir=output_dir,
        sidecars={
            "bert_config.json": bert_config.to_json(),
            "vocab.txt": "\n".join(preprocessor.tokenizer.vocab) + "\n",
            "task.json": spec.to_json(),
        },
    )
    finetuned = FinetunedModel(model, preprocessor, spec)
    answers = finetuned.predict_examples(
        dataclasses.replace(validation_set, labels=None),
        batch_size=config.eval_batch_size,
    )
    results = _score(task, validation_set.labels, answers)
    results["loss"] = figures["val_loss"]
    with atomic_path(output_dir / "eval_results.json") as path:
        path.write_text(json.dumps(results, indent=2) + "\n")
    write_predictions(output_dir, "predictions", rows, answers, task.labels)
    if is_classification:
        write_confusion_matrix(
            output_dir / "confusion_matrix.png",
            validation_set.labels,
            answers.argmax(-1),
            task.labels,
        )
    _predict_test_set(finetuned, task, data_dir, output_dir, config)
    return results


def _beside(init_checkpoint, bert_config, vocab_file):
    """Config and vocabulary: as given, or else from beside the weights."""
    folder = checkpoint_folder(init_checkpoint) if init_checkpoint else None
    if bert_config is None:
        if folder is None:
            raise ValueError(
                "Without an init_checkpoint, a bert_config must be given."
            )
        bert_config = config_beside(folder)
    if vocab_file is None:
        vocab_file = folder and folder / "vocab.txt"
        if vocab_file is None or not vocab_file.is_file():
            raise FileNotFoundError(
                "No vocab.txt beside the checkpoint; give its vocab_file."
            )
    return bert_config, vocab_file


def _read(task, data_dir, split, preprocessor):
    rows = task.read(data_dir, split)
    labels = encode_labels(rows, task)
    return rows, encode_examples(rows, task.text_fields, preprocessor, labels)


def _score(task, gold, answers):
    predicted = answers.argmax(-1) if task.labels else answers
    return {
        name: float(METRICS[name](gold, predicted)) for name in task.metrics
    }


def _predict_test_set(finetuned, task, data_dir, output_dir, config):
    try:
        rows = task.read(data_dir, "test")
    except FileNotFoundError as error:
        logging.info("No predictions of a test set: %s", error)
        return
    answers = finetuned.predict(rows, batch_size=config.eval_batch_size)
    write_predictions(
        output_dir, "test_predictions", rows, answers, task.labels
    )
