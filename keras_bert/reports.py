"""What a fine-tuned model answered, as files to read and to look at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import ConfusionMatrixDisplay

from keras_bert.atomic import atomic_path


def write_predictions(
    folder: Path,
    name: str,
    rows: list[Mapping[str, str]],
    answers: np.ndarray,
    labels: tuple[str, ...],
) -> None:
    """Writes NAME.jsonl, with the rows and the scores, and NAME.tsv.

    The TSV has the columns `index` and `prediction`, which is the form that
    the GLUE server takes. `answers` are probabilities [N, L], or numbers [N]
    where there are no labels.
    """
    with (
        atomic_path(folder / f"{name}.jsonl") as jsonl_path,
        atomic_path(folder / f"{name}.tsv") as tsv_path,
        jsonl_path.open("w", encoding="utf-8") as jsonl,
        tsv_path.open("w", encoding="utf-8") as tsv,
    ):
        tsv.write("index\tprediction\n")
        for i, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            line = dict(row)
            if labels:
                line["prediction"] = labels[answer.argmax()]
                line["scores"] = dict(zip(labels, answer.tolist(), strict=True))
            else:
                line["prediction"] = float(answer)
            jsonl.write(json.dumps(line, ensure_ascii=False) + "\n")
            tsv.write(f"{i}\t{line['prediction']}\n")


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
