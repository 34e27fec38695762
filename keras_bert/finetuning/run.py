"""A task and a pre-trained model -> a fine-tuned model and its figures."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.find import check_output_dir, config_and_vocab
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.tokenizer_settings import (
    resolve_tokenizer_settings,
)
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.files import atomic_path
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.finetuned_model import (
    FinetunedModel,
    check_is_finetuned,
)
from keras_bert.kinds.base import build_head
from keras_bert.kinds.reports import write_predictions, write_submission
from keras_bert.kinds.spec import TaskSpec
from keras_bert.models.feature_tagger import size_features
from keras_bert.models.flops import count_work
from keras_bert.settings import setting
from keras_bert.tasks import get_task
from keras_bert.tasks.base import Task
from keras_bert.tasks.tfds_reader import read_tfds
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import (
    get_strategy,
    is_chief,
    precision,
)
from keras_bert.training.run_files.best import Selection
from keras_bert.training.trainer import train


@dataclasses.dataclass(frozen=True)
class FinetuningConfig(TrainConfig):
    """A fine-tuning run; defaults as in google-research/bert.

    Attributes:
        data_source: files, the official ones; or tfds, where data_dir is a
            folder of tensorflow-datasets.
        do_lower_case: Whether the vocabulary is uncased.
        num_train_epochs: How often the training set is gone through; 0 to
            evaluate a fine-tuned init_checkpoint as it is.
        warmup_proportion: Share of the steps in which the rate rises.
        max_seq_length: Longer texts are cut, or read in several windows; 0
            for what the task is used with.
        early_stopping_patience: The run ends if the task's first metric has
            not risen for this many intervals of the current
            save_checkpoints_steps; 0 for never.
        doc_stride: From the start of one window to that of the next, in
            tokens.
        max_query_length: Of a longer question, only so many tokens are read.
        max_answer_length: No answer of a span task is longer, in tokens.
        n_best_size: So many answers are written to nbest_predictions.json.
        null_score_diff_threshold: No answer is given where its score exceeds
            that of the best answer by more.
        features: What of a frozen encoder a tagger is trained on (paper,
            5.3): embeddings, second_to_last, last, weighted_sum_last_four,
            concat_last_four or weighted_sum_all; without, the encoder is
            trained too.
        bilstm_size: Of a two-layer BiLSTM on the encoder, in each direction;
            768 in the paper, 0 for none.
    """

    data_source: str = setting("files", choices=("files", "tfds"))
    do_lower_case: bool = True
    learning_rate: float = 5e-5
    save_checkpoints_steps: int = 500
    num_train_epochs: float = setting(3.0, minimum=0)
    warmup_proportion: float = setting(0.1, minimum=0)
    max_seq_length: int = setting(0, minimum=0)
    early_stopping_patience: int = setting(0, minimum=0)
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best_size: int = 20
    null_score_diff_threshold: float = setting(0.0, minimum=-math.inf)
    features: str = ""
    bilstm_size: int = setting(0, minimum=0)


def finetune(
    task: str | Task,
    data_dir: str | Path,
    output_dir: str | Path,
    *,
    init_checkpoint: str | Path | None = None,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    config: FinetuningConfig | None = None,
) -> dict[str, float]:
    """Fine-tunes on a task, or goes on where an earlier call stopped.

    Args:
        task: A `Task`, or what `get_task` takes: "glue/sst2", "my_task.py".
        data_dir: The folder of the task's files.
        output_dir: Gets `checkpoints/`; `best/`, the checkpoint with the best
            first metric of the task; `history.csv`, `curves.png`; and of the
            best one `eval_results.json`, `predictions.jsonl`, the head's
            reports and the predictions of the test sets. Only the latter for
            0 epochs.
        init_checkpoint: The pre-trained weights, whatever `load_checkpoint`
            takes; without, random ones. For 0 epochs, fine-tuned ones.
        bert_config: The network; by default the one beside the weights.
        vocab_file: Its word pieces; by default those beside the weights.
        config: Rates, sizes and epochs.

    Returns:
        The task's metrics on the first validation set, and its `loss`; those
        of others with the name of the split before them. Of several workers,
        only the chief looks at the best checkpoint and writes files; others
        return the last row of the history.
    """
    task = get_task(task) if isinstance(task, str) else task
    config = config or FinetuningConfig()
    output_dir = Path(output_dir)
    check_output_dir(output_dir)
    # Before anything else in TensorFlow: workers find each other now or never.
    strategy = get_strategy(config.distribution_strategy, config.tpu)
    read = _reader(task, data_dir, config.data_source)
    bert_config, vocab_file = config_and_vocab(
        init_checkpoint, bert_config, vocab_file
    )
    # For its warning only.
    resolve_tokenizer_settings(
        init_checkpoint, vocab_file, config.do_lower_case
    )
    head = build_head(_spec(task, config), vocab_file, bert_config)

    def build_model():
        model = head.build_model(bert_config)
        if init_checkpoint:
            load_checkpoint(model, init_checkpoint)
        return model

    if config.num_train_epochs:
        train_set = head.encode(read("train"), labeled=True)
    else:
        _check_is_model_of(task, init_checkpoint)
    evaluations = {
        split: Evaluation(
            head, read(split), task.metrics, batch_size=config.eval_batch_size
        )
        for split in task.validation_splits
    }
    if config.num_train_epochs:
        evaluation = evaluations[task.validation_splits[0]]
        model, figures = _train(
            build_model,
            train_set,
            head,
            Selection(
                lambda model: evaluation(model)[1],
                task.metrics[0],
                config.early_stopping_patience,
            ),
            strategy=strategy,
            bert_config=bert_config,
            config=config,
            output_dir=output_dir,
        )
        if not is_chief(strategy):
            return figures
        load_checkpoint(model, output_dir)
    else:
        with precision(config.precision):
            model = build_model()
    results = _evaluate(model, head, evaluations, output_dir)
    _predict_test_sets(FinetunedModel(model, head), task, read, output_dir)
    return results


def _train(
    build_model,
    train_set,
    head,
    selection,
    *,
    strategy,
    bert_config,
    config,
    output_dir,
):
    steps_per_epoch = math.ceil(
        len(train_set.lengths) / config.train_batch_size
    )
    num_train_steps = max(1, round(steps_per_epoch * config.num_train_epochs))
    return train(
        build_model,
        training_batches(
            train_set,
            batch_size=config.train_batch_size,
            num_epochs=math.ceil(config.num_train_epochs),
            seed=config.random_seed,
        ).skip,
        None,
        objectives=head.objectives,
        count_work=_work_counter(head.spec, bert_config),
        num_train_steps=num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        strategy=strategy,
        config=config,
        output_dir=output_dir,
        sidecars={
            "bert_config.json": bert_config.to_json(),
            "vocab.txt": "\n".join(head.tokenizer.vocab) + "\n",
            "task.json": head.spec.to_json(),
        },
        selection=selection,
    )


def _evaluate(model, head, evaluations, output_dir):
    """Writes and returns the figures; the first set's answers too."""
    evaluation, *_ = evaluations.values()
    others = list(evaluations.items())[1:]
    answers, results = evaluation(model)
    for split, other in others:
        _, figures = other(model)
        results |= {f"{split}_{name}": x for name, x in figures.items()}
    with atomic_path(output_dir / "eval_results.json") as path:
        path.write_text(json.dumps(results, indent=2) + "\n")
    write_predictions(
        output_dir / "predictions.jsonl", evaluation.rows, answers
    )
    head.write_reports(output_dir, evaluation.rows, answers)
    return results


def _reader(task, data_dir, data_source):
    def read(split):
        if data_source == "tfds":
            rows = read_tfds(task, Path(data_dir), split)
        else:
            rows = task.read(Path(data_dir), split)
        if not rows:
            raise InputError(
                f"Nothing was read of {split}; check the reader of the task."
            )
        return rows

    return read


def _spec(task, config):
    """From the task and the config, whichever has the field."""
    values = dataclasses.asdict(config)
    values = {k: v for k, v in values.items() if k in _SPEC_FIELDS}
    for field in dataclasses.fields(task):
        if field.name in _SPEC_FIELDS:
            values[field.name] = getattr(task, field.name)
    values["max_seq_length"] = config.max_seq_length or task.max_seq_length
    return TaskSpec(**values)


def _check_is_model_of(task, init_checkpoint):
    folder = check_is_finetuned(init_checkpoint)
    spec = TaskSpec.from_json(folder / "task.json")
    if (spec.head, spec.labels) != (task.head, task.labels):
        raise InputError(
            f"{folder} is a model for {spec.head} {spec.labels}, but the task "
            f"is {task.head} {task.labels}; give a model of this task."
        )


def _work_counter(spec, bert_config):
    num_layers, input_size = None, bert_config.hidden_size
    if spec.features:
        num_layers, input_size = size_features(bert_config, spec.features)
    return functools.partial(
        count_work,
        config=bert_config,
        # A head on the tokens counts as one on the pooled output: little.
        num_labels=len(spec.labels) or 1,
        bilstm_size=spec.bilstm_size,
        bilstm_input_size=input_size,
        num_frozen_layers=num_layers,
    )


_SPEC_FIELDS = {field.name for field in dataclasses.fields(TaskSpec)}


def _predict_test_sets(finetuned, task, read, output_dir):
    for split, file in task.test_files.items():
        try:
            rows = read(split)
        except FileNotFoundError as error:
            logging.info("No predictions of a test set: %s", error)
            continue
        answers = finetuned.predict(rows)
        path = output_dir / file
        write_predictions(path.with_suffix(".jsonl"), rows, answers)
        write_submission(path, answers)
