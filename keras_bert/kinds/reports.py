"""What a fine-tuned model answered, as files to read and to look at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import ConfusionMatrixDisplay

from keras_bert.files import atomic_path

_NUM_WORST = 100


def write_predictions(
    file: Path, rows: Sequence[Mapping], answers: Sequence[Mapping]
) -> None:
    """Writes each row with its answer, as JSON lines.

    Of fields that both have, the row's stays, but `prediction` is the answer's.
    """
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as lines:
        for row, answer in zip(rows, answers, strict=True):
            line = {**row, **answer, **row, "prediction": answer["prediction"]}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_submission(file: Path, answers: Sequence[Mapping]) -> None:
    """Writes `index` and `prediction`, the form that the GLUE server takes.

    The labels of words stand with spaces between.
    """
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as tsv:
        tsv.write("index\tprediction\n")
        for i, answer in enumerate(answers):
            prediction = answer["prediction"]
            if isinstance(prediction, float):
                prediction = f"{prediction:.3f}"
            if isinstance(prediction, list):
                prediction = " ".join(prediction)
            tsv.write(f"{i}\t{prediction}\n")


def write_confusion_matrix(
    file: Path,
    gold: np.ndarray,
    predicted: np.ndarray,
    labels: tuple[str, ...],
) -> None:
    """Draws a PNG: gold labels down, predicted ones across, with counts."""
    size = 2.5 + 0.6 * len(labels)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(
        gold,
        predicted,
        labels=range(len(labels)),
        display_labels=labels,
        ax=figure.subplots(),
        cmap="Blues",
        xticks_rotation=45 if len(labels) > 2 else "horizontal",
    )
    with atomic_path(file) as path:
        figure.savefig(path, format="png", dpi=120)


def write_worst_errors(
    file: Path, header: Sequence[str], errors: Sequence[Sequence]
) -> None:
    """Writes the 100 worst errors as tab-separated columns, worst first.

    The first columns of an error are the gold answer, the predicted one, and
    a number that is the larger, or the more negative, the worse the error is.
    """
    worst = sorted(errors, key=lambda error: -abs(error[2]))[:_NUM_WORST]
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as tsv:
        for line in (header, *worst):
            tsv.write("\t".join(map(_column, line)) + "\n")


def _column(value):
    if isinstance(value, float):
        return f"{value:.4f}"
    return " ".join(str(value).split())  # no tabs, no line breaks
