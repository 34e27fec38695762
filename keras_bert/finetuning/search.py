"""The paper's search: many fine-tuning runs, the best chosen on the dev set."""

import csv
import dataclasses
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.errors import InputError
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.encoding import encoded_folder
from keras_bert.finetuning.engine import text_of_rows
from keras_bert.finetuning.run import finetune, read_split
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, remove, write_json
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Task
from keras_bert.tasks.registry import get_task
from keras_bert.training.fingerprint import (
    FINGERPRINT_FILE,
    Fingerprint,
    digest_of,
)

_VARIED_IN_THE_PAPER = (
    "learning_rate",
    "num_train_epochs",
    "random_seed",
    "train_batch_size",
)


@shown_log()
def search_hyperparameters(
    task: str | Task,
    data_dir: str | Path,
    output_dir: str | Path,
    *,
    configs: Sequence[FinetuningConfig],
    num_restarts: int = 1,
    cache_dir: str | Path | None = None,
    **kwargs,
) -> dict[str, float]:
    """Fine-tunes with each config, and keeps the best model (paper, A.3).

    Each run has its own folder, named after its settings. The same call again
    resumes the run that was interrupted. All runs share one process, so they
    cannot use several workers, which cannot begin a second run.

    Args:
        task: As for `finetune`.
        data_dir: As for `finetune`.
        output_dir: Gets `search.csv`, with a row for each run, the best one
            first; `search.png`; and the folders of the runs. Only the best
            run keeps its weights.
        configs: One for each run.
        num_restarts: Runs of each config, each with another random_seed.
        cache_dir: As for `finetune`; by default `encoded` in output_dir, for
            all runs.
        **kwargs: Further arguments of `finetune`.

    Returns:
        The row of the best run: its settings, metrics and `minutes`.

    Raises:
        InputError: If there is nothing to run, if the strategy has several
            workers, or if `output_dir` has results of another search.

    Example:
        >>> configs = [
        ...     keras_bert.FinetuningConfig(learning_rate=x, num_train_epochs=1)
        ...     for x in (1e-4, 3e-5)
        ... ]
        >>> best = keras_bert.finetuning.search_hyperparameters(
        ...     "glue/sst2",
        ...     "sst2",
        ...     "search",
        ...     configs=configs,
        ...     checkpoint="pretrained",
        ...     settings={"max_seq_length": 16},
        ... )
        >>> best["learning_rate"] in (1e-4, 3e-5)
        True
    """
    configs = [
        dataclasses.replace(config, random_seed=config.random_seed + i)
        for config in configs
        for i in range(num_restarts)
    ]
    configs = list(dict.fromkeys(configs))  # no duplicates
    if not configs or not all(config.num_train_epochs for config in configs):
        raise InputError(
            "There is nothing to run; give a value for each flag, epochs above "
            "0, and at least one restart."
        )
    if any(c.distribution_strategy == "multi_worker_mirrored" for c in configs):
        raise InputError(
            "A search cannot use several workers; call finetune once for each "
            "setting."
        )
    output_dir = to_path(output_dir)
    cache_dir = encoded_folder(output_dir, cache_dir)
    found_task = task if isinstance(task, Task) else get_task(task)
    metric = found_task.metrics[0]
    inputs = _inputs(found_task, to_path(data_dir), kwargs)
    varied = [
        field.name
        for field in dataclasses.fields(FinetuningConfig)
        if field.name in _VARIED_IN_THE_PAPER
        or len({getattr(config, field.name) for config in configs}) > 1
    ]
    rows: list[dict[str, Any]] = []

    def rank(row):
        # The correlation with a constant is undefined.
        return -math.inf if math.isnan(row[metric]) else row[metric]

    def folder_of(row):
        return output_dir / ",".join(f"{x}={row[x]}" for x in varied)

    for number, config in enumerate(configs, 1):
        row = {name: getattr(config, name) for name in varied}
        folder = folder_of(row)
        logging.info("Run %d of %d: %s", number, len(configs), folder.name)
        done = folder / "run.json"
        if kwargs.get("overwrite_output_dir"):
            remove(done)
        fingerprint = dataclasses.replace(
            inputs, settings={**dataclasses.asdict(config), **inputs.settings}
        )
        if done.is_file():
            fingerprint.check_is_that_of(folder, folder)
        else:
            begin = time.monotonic()
            figures = finetune(
                task,
                data_dir,
                folder,
                config=config,
                cache_dir=cache_dir,
                **kwargs,
            )
            figures["minutes"] = (time.monotonic() - begin) / 60
            write_json(folder / FINGERPRINT_FILE, vars(fingerprint))
            write_json(done, figures)
        # A finished run does not need its last checkpoints, which are large.
        remove(folder / "checkpoints")
        figures = json.loads(done.read_bytes())
        # JSON has no NaN, the score of an undefined metric.
        row |= {n: math.nan if x is None else x for n, x in figures.items()}
        rows.append(row)
        rows.sort(key=rank, reverse=True)
        for worse in rows[1:]:
            remove(folder_of(worse) / "best")
        _write_table(output_dir / "search.csv", rows)
    _plot(output_dir / "search.png", rows, varied, metric)
    logging.info("The best model is in %s", folder_of(rows[0]))
    return rows[0]


def _inputs(task, data_dir, kwargs):
    """Returns the fingerprint of what all runs of a search are made from."""
    rows = (
        text_of_rows(read_split(task, data_dir, split))
        for split in ("train", task.validation_splits[0])
    )
    checkpoint = kwargs.get("checkpoint")
    settings = {
        **{x: getattr(task, x) for x in ("kind", "text_fields", "labels")},
        "settings of the task": str(task.settings),
        **{name: str(value) for name, value in kwargs.items()},
    }
    settings.pop("overwrite_output_dir", None)
    return Fingerprint(
        settings,
        {
            "rows": digest_of(*rows),
            "initial weights": fingerprint_of(checkpoint) if checkpoint else "",
        },
    )


def _write_table(file, rows):
    with atomic_path(file) as path, path.open("w", newline="") as table:
        writer = csv.DictWriter(table, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _plot(file, rows, varied, metric):
    """Draws a panel for each field, with a dot for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.5 * len(varied), 3.5), layout="constrained")
    panels = figure.subplots(1, len(varied), squeeze=False, sharey=True)[0]
    for axes, name in zip(panels, varied, strict=True):
        values = sorted({row[name] for row in rows})
        places = [values.index(row[name]) for row in rows]
        axes.plot(places, [row[metric] for row in rows], "o", alpha=0.5)
        axes.set_xticks(range(len(values)), map(str, values))
        axes.set(xlabel=name.replace("_", " "), xlim=(-0.5, len(values) - 0.5))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(metric)
    with atomic_path(file) as path:
        figure.savefig(path, format="png", dpi=120)
