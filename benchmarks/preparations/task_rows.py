"""Writes the rows of a task as JSON lines, for peers that cannot read it.

    python task_rows.py TASK DATA_DIR FOLDER

Writes FOLDER/train.jsonl and FOLDER/validation.jsonl: the `texts` of each row,
a list, and the number of its `label`.
"""

import json
import sys
from pathlib import Path

import keras_bert


def main(name, data_dir, folder):
    task = keras_bert.get_task(name)
    folder = Path(folder)
    folder.mkdir()
    for split in ("train", "validation"):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for row in task.read(Path(data_dir), split):
                values = {
                    "texts": [row[field] for field in task.text_fields],
                    "label": task.labels.index(row["label"]),
                }
                file.write(json.dumps(values) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
