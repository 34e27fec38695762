"""The paper's search: many fine-tuning runs, the best chosen on the dev set."""

from __future__ import annotations

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
from keras_bert.finetuning.run import finetune, reader
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, remove, write_json
from keras_bert.progress import shown_log
from keras_bert.tasks.base import Task
from keras_bert.tasks.registry import get_task
from keras_bert.training.fingerprint import digest_of

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
    found_task = task if isinstance(task, Task) else get_task(task)
    output_dir = to_path(output_dir)
    configs = [
        dataclasses.replace(config, random_seed=config.random_seed + i)
        for config in configs
        for i in range(num_restarts)
    ]
    configs = list(dict.fromkeys(configs))  # no duplicates
    _check(configs)
    varied = _varied_fields(configs)
    cache_dir = encoded_folder(output_dir, cache_dir)
    metric = found_task.metrics[0]
    inputs = _inputs(found_task, data_dir, configs[0], kwargs)
    rows: list[dict[str, Any]] = []
    best: tuple[dict[str, Any], Path] | None = None

    def rank(row):
        # The correlation with a constant is undefined.
        return -math.inf if math.isnan(row[metric]) else row[metric]

    for number, config in enumerate(configs, 1):
        settings = {name: getattr(config, name) for name in varied}
        name = ",".join(f"{k}={v}" for k, v in settings.items())
        logging.info("Run %d of %d: %s", number, len(configs), name)
        folder = output_dir / name
        if kwargs.get("overwrite_output_dir"):
            remove(folder / "run.json")
        asked = dataclasses.asdict(config) | inputs

        def run(config=config, folder=folder):
            return finetune(
                task,
                data_dir,
                folder,
                config=config,
                cache_dir=cache_dir,
                **kwargs,
            )

        row = settings | _run(run, folder, asked)
        rows.append(row)
        if best is None or rank(row) > rank(best[0]):
            best, worse = (row, folder), best
        else:
            worse = row, folder
        if worse:
            remove(worse[1] / "best")
        rows.sort(key=rank, reverse=True)
        _write_table(output_dir / "search.csv", rows)
        _plot(output_dir / "search.png", rows, varied, metric)
    assert best  # there is at least one config
    logging.info("The best model is in %s", best[1])
    return best[0]


def _check(configs):
    if not configs:
        raise InputError(
            "There is nothing to run; give a value for each flag, and at least "
            "one restart."
        )
    if not all(config.num_train_epochs for config in configs):
        raise InputError(
            "With num_train_epochs=0 nothing is trained, so there is nothing "
            "to search; leave the 0 out."
        )
    if any(c.distribution_strategy == "multi_worker_mirrored" for c in configs):
        raise InputError(
            "A search cannot use several workers; call finetune once for each "
            "setting."
        )


def _varied_fields(configs):
    """The fields that the paper varies, and those in which configs differ."""
    return [
        field.name
        for field in dataclasses.fields(FinetuningConfig)
        if field.name in _VARIED_IN_THE_PAPER
        or len({getattr(config, field.name) for config in configs}) > 1
    ]


def _inputs(task, data_dir, config, kwargs):
    """Returns what all runs of a search are made from."""
    splits = ("train", task.validation_splits[0])
    read = reader(task, to_path(data_dir), config.data_source)
    inputs = {
        "task": str((task.kind, task.text_fields, task.labels, task.settings)),
        "data_dir": str(data_dir),
        "rows": digest_of(*(text_of_rows(read(split)) for split in splits)),
    }
    if checkpoint := kwargs.get("checkpoint"):
        inputs["initial weights"] = fingerprint_of(checkpoint)
    return inputs | {
        name: str(value)
        for name, value in kwargs.items()
        if name != "overwrite_output_dir"
    }


def _run(run, folder, asked) -> dict[str, Any]:
    """Returns the figures of a run; runs it unless an earlier call has."""
    done = folder / "run.json"
    if not done.is_file():
        begin = time.monotonic()
        figures = run()
        figures["minutes"] = (time.monotonic() - begin) / 60
        write_json(done, {"asked": asked, "figures": figures})
    # A finished run does not need its last checkpoints, which are large.
    remove(folder / "checkpoints")
    values = json.loads(done.read_text(encoding="utf-8"))
    for name, value in asked.items():
        if (before := values["asked"].get(name)) != value:
            raise InputError(
                f"{folder} was run with {name}={before!r}, not {value!r}; "
                "give another output_dir, or overwrite_output_dir to start "
                "over."
            )
    # JSON has no NaN, the score of an undefined metric.
    figures = values["figures"]
    return {n: math.nan if x is None else x for n, x in figures.items()}


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
