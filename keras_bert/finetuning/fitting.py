"""What `fit` of a fine-tuned model shares with Keras: arguments, a history."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from keras_bert.errors import InputError
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.training.history import Row as Figures


def config_of_fit(
    config: FinetuningConfig | None, **changes: Any
) -> FinetuningConfig:
    """Returns the config with the changes that are not None.

    Raises InputError if `fit` cannot train in this way.
    """
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


def history_of(
    rows: Iterable[Figures], model: keras.Model
) -> keras.callbacks.History:
    """Returns the figures of each epoch; figures of training are means."""
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
