"""A tensorflow-datasets data set -> the rows of a task."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.folders import local_copy
from keras_bert.io.paths import to_path
from keras_bert.tasks.base import Row, Task

_ROWS_PER_BATCH = 1000


def read_tfds(
    task: Task, name: str, data_dir: str | Path, split: str
) -> Iterator[Row]:
    """Yields the rows of a split as `task.read` does, without downloads.

    If the data set has the field `idx` (the index of a row in the official
    file), all rows are read into memory and sorted by `idx`. Otherwise, rows
    are read from disk one after the other.

    Args:
        task: The task, which names the fields and the labels of the rows.
        name: The name in tensorflow-datasets, such as "glue/mnli".
        data_dir: The folder in which tensorflow-datasets prepared the data set.
        split: The name of the split in the task.

    Raises:
        FileNotFoundError: If the data set or its split is absent.
        InputError: If the data set does not have the fields or the labels of
            the task.
    """
    import tensorflow_datasets as tfds

    # tensorflow-datasets reads s3:// only through libraries of its own.
    folder = local_copy(_folder(name, to_path(data_dir)))
    builder = tfds.builder_from_directory(folder)
    if split not in builder.info.splits:
        raise FileNotFoundError(
            f"{name} has no split {split!r}, only "
            f"{', '.join(builder.info.splits)}."
        )
    features = builder.info.features
    fields = list(task.text_fields)
    if split not in task.test_files:
        fields.append("label")
    if missing := [field for field in fields if field not in features]:
        raise InputError(
            f"{name} has no field {missing[0]!r}, only "
            f"{', '.join(features)}; the task needs {', '.join(fields)}."
        )
    # tensorflow-datasets shuffles. Predictions are submitted in the order of
    # the official files, which is the order of idx.
    order = ["idx"] if "idx" in features else []
    dataset = builder.as_dataset(split=split).map(
        lambda example: {x: example[x] for x in fields + order}
    )
    names = {}
    if "label" in fields:
        names["label"] = _label_names(task, name, features["label"])
    examples: Iterator[dict] = (
        dict(zip(batch, values, strict=True))
        for batch in tfds.as_numpy(dataset.batch(_ROWS_PER_BATCH))
        for values in zip(*batch.values(), strict=True)
    )
    if order:
        examples = iter(sorted(examples, key=lambda example: example["idx"]))
    return (
        {x: _string(example[x], names.get(x)) for x in fields}
        for example in examples
    )


def _folder(name: str, data_dir: Path) -> Path:
    """Returns the folder of the newest prepared version of a data set."""
    infos = data_dir.glob(f"{name}/*.*.*/dataset_info.json")
    versions = {
        tuple(map(int, info.parent.name.split("."))): info.parent
        for info in infos
    }
    if not versions:
        raise FileNotFoundError(
            f"{data_dir} contains no prepared {name}; run "
            f'tensorflow_datasets.load("{name}", data_dir=...) '
            "once on a machine with an internet connection."
        )
    return versions[max(versions)]


def _label_names(task: Task, name: str, feature: Any) -> Any:
    """Returns the names of the labels, in the order of ids; None if unnamed."""
    names = getattr(feature, "names", None)
    if names is None or set(names) == set(task.labels):
        return names
    # The official files have 0 and 1 as labels; tensorflow-datasets has names.
    if task.labels == tuple(str(i) for i in range(len(names))):
        return task.labels
    raise InputError(
        f"{name} has the labels {', '.join(names)}, but the task has "
        f"{', '.join(task.labels)}; check the name and the labels."
    )


def _string(value: Any, names: Any) -> str:
    if names:
        return names[value]
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
