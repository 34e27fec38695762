"""Reports that several kinds write: a confusion matrix, the worst errors."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from keras_bert.io.whole_files import atomic_path

_NUM_WORST = 100
_MAX_LABELS = 30


def write_confusion_matrix(
    folder: Path,
    gold: Sequence[int] | np.ndarray,
    predicted: Sequence[int] | np.ndarray,
    labels: tuple[str, ...],
) -> None:
    """Draws `confusion_matrix.png`: gold labels down and predictions across.

    If there are more than 30 labels, only the 30 most frequent in `gold` are
    drawn: the memory of a picture grows with the square of the number of
    labels.
    """
    # Imported late, because this takes a second.
    from matplotlib.figure import Figure
    from sklearn.metrics import ConfusionMatrixDisplay

    counts = np.bincount(np.asarray(gold, int), minlength=len(labels))
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LABELS])
    size = 2.5 + 0.6 * len(kept)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(
        gold,
        predicted,
        labels=kept,
        display_labels=[labels[i] for i in kept],
        ax=figure.subplots(),
        cmap="Blues",
        xticks_rotation=45 if len(kept) > 2 else "horizontal",
    )
    with atomic_path(folder / "confusion_matrix.png") as path:
        figure.savefig(path, format="png", dpi=120)


def write_worst_errors(
    file: Path, header: Sequence[str], errors: Sequence[Sequence]
) -> None:
    """Writes the 100 worst errors as tab-separated columns, worst first.

    The first columns of an error are the gold answer, the predicted answer and
    a number. The larger the absolute value of this number, the worse the error.
    """
    worst = sorted(errors, key=lambda error: -abs(error[2]))[:_NUM_WORST]
    write_table(file, [header, *worst])


def write_table(file: Path, lines: Iterable[Iterable]) -> None:
    """Writes tab-separated columns; numbers have four decimal places."""
    text = "".join("\t".join(map(_column, line)) + "\n" for line in lines)
    with atomic_path(file) as path:
        path.write_text(text, encoding="utf-8")


def _column(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return " ".join(str(value).split())  # without tabs and line breaks
