"""The answers of a fine-tuned model, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from keras_bert.io.whole_files import atomic_path
from keras_bert.kinds.kind import Kind


def write_predictions(
    file: Path, rows: Sequence[Mapping], answers: Sequence[Mapping]
) -> None:
    """Writes each row with its answer as JSON lines; its label is `gold`."""
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as lines:
        for row, answer in zip(rows, answers, strict=True):
            row = {
                "gold" if name == "label" else name: value
                for name, value in row.items()
            }
            lines.write(
                json.dumps({**row, **answer}, ensure_ascii=False) + "\n"
            )


def write_submission(
    file: Path, kind: Kind, answers: Sequence[Mapping]
) -> None:
    """Writes `index` and `prediction`, as the GLUE server takes them."""
    with atomic_path(file) as path, path.open("w", encoding="utf-8") as tsv:
        tsv.write("index\tprediction\n")
        for i, answer in enumerate(answers):
            tsv.write(f"{i}\t{kind.submission(answer)}\n")
