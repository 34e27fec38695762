"""Rows in memory and an engine -> a trained network and its history."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.checkpoints.find import check_output_dir
from keras_bert.errors import InputError
from keras_bert.finetuning.adaptation import check_adaptation
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.engine import Engine
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.folder import (
    name_without_folders,
    read_training,
    sidecars,
)
from keras_bert.io.paths import to_path
from keras_bert.kinds.kind import Kind
from keras_bert.tasks.base import Row
from keras_bert.training.checkpoint import write_weights
from keras_bert.training.distribution import get_strategy
from keras_bert.training.history import Row as Figures


def fit_rows(
    engine: Engine,
    rows: Sequence[Row],
    held_out: Sequence[Row],
    *,
    network: keras.Model | None,
    callbacks: Sequence[keras.callbacks.Callback],
    output_dir: str | Path | None,
    starts_over: bool,
) -> tuple[keras.Model, Kind, Mapping[str, Any], keras.callbacks.History]:
    """Trains a network that starts with the weights of the engine's checkpoint.

    If there is a `network`, it starts with the weights of this one, and the
    checkpoint only has the name of where they are from. Returns the network,
    the kind with what it learned, and what is known of the training.
    """
    config, origin = engine.config, name_without_folders(engine.checkpoint)
    if output_dir is not None:
        check_output_dir(to_path(output_dir))
        if network is not None and config.lora_rank:
            raise InputError(
                "Adapters in an output_dir need their base model in a folder; "
                "save the model and go on from from_pretrained(folder)."
            )
    with tempfile.TemporaryDirectory(prefix="keras_bert-") as temporary:
        folder = to_path(output_dir or temporary)
        if output_dir is None:
            config = dataclasses.replace(config, keep_checkpoint_max=1)
            engine = dataclasses.replace(engine, config=config)
        if network is not None:
            start = Path(temporary) / "start"
            files = sidecars(engine.kind, engine.bert_config, {})
            write_weights(network, start, files)
            engine = dataclasses.replace(engine, checkpoint=start)
        check_adaptation(config, engine.bert_config, engine.checkpoint)
        strategy = get_strategy(config)
        engine, _ = engine.with_learned_settings(lambda: rows)
        kind, evaluations = engine.kind, {}
        if held_out:
            evaluations["validation"] = Evaluation(
                kind, held_out, batch_size=config.eval_batch_size
            )
        run = engine.train(
            rows,
            evaluations,
            kind.spec.metrics[0],
            strategy=strategy,
            output_dir=folder,
            cache_dir=None,
            origin={"task": None, "data": None, "checkpoint": origin},
            callbacks=callbacks,
            starts_over=starts_over,
            is_interactive=True,
        )
        model = engine.load_best(folder, run.model)
        training = read_training(folder / "best")
    return model, kind, training, _history(run.history.rows, model)


def checked_config(
    config: FinetuningConfig | None, optimizer: Any, **changes: Any
) -> FinetuningConfig:
    """Returns the config with the changes that are not None."""
    if optimizer is not None:
        raise InputError(
            "fit makes the optimizer, which decays the learning rate to 0; "
            "choose it by FinetuningConfig(optimizer=..., learning_rate=...), "
            "or train model.model with compile and fit of Keras."
        )
    config = FinetuningConfig.checked(config)
    changes = {name: x for name, x in changes.items() if x is not None}
    config = dataclasses.replace(config, **changes)
    if not config.num_train_epochs:
        raise InputError("epochs is 0, but must be above 0.")
    if config.do_lower_case is not None:
        raise InputError(
            "The model has its tokenizer already; give do_lower_case to "
            "from_pretrained, not in the config."
        )
    if config.distribution_strategy == "multi_worker_mirrored":
        raise InputError("fit runs in one process; use finetune on workers.")
    return config


def _history(rows: Iterable[Figures], model):
    """Returns the figures of each epoch; those of training are its means."""
    history = keras.callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    first_step: float = 0
    parts: list[Figures] = []
    for row in rows:
        parts.append(row)
        if "minutes" not in row:  # not the end of an interval
            continue
        steps = np.diff([first_step, *(part["step"] for part in parts)])
        means = {
            name: float(np.average([x[name] for x in parts], weights=steps))
            for name in set(row).intersection(*parts)
            - {"step", "learning_rate"}
            if len(parts) > 1
        }
        logs = {name: means.get(name, value) for name, value in row.items()}
        history.on_epoch_end(len(history.epoch), logs)
        first_step, parts = row["step"], []
    return history
