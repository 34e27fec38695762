"""Writes a task's rows as JSON lines, for peers that cannot read the task.

    python task_rows.py TASK DATA_DIR FOLDER

Writes FOLDER/train.jsonl and FOLDER/validation.jsonl. Each line has a list of
`texts` and the index of the `label`.
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
