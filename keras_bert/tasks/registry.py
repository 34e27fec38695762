"""Name -> task; a task can also be defined in a file of your own."""

import dataclasses
import functools
import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.tasks.base import Task
from keras_bert.tasks.tfds_reader import read_tfds


def get_task(name: str | Path) -> Task:
    """Returns a task by name, or from a Python file of your own.

    Args:
        name: A known name, such as "glue/sst2". Or the path of a Python file
            that defines `TASKS`, as keras_bert/tasks/glue.py does: "my_task.py"
            if the file has one task, "my_task.py:name" if it has several. With
            "tfds/" before a known name, as in "tfds/glue/sst2", the task reads
            a data folder that tensorflow-datasets has prepared.

    Raises:
        InputError: If the name is unknown.
        FileNotFoundError: If the Python file does not exist.

    Example:
        >>> task = keras_bert.get_task("glue/sst2")
        >>> task.kind, task.text_fields, task.labels
        ('classification', ('sentence',), ('0', '1'))
        >>> next(task.read("sst2", "validation"))
        {'sentence': 'a very good film', 'label': '1'}
    """
    name = str(name)
    path, _, chosen = name.partition(":")
    if path.endswith(".py"):
        return _task_of_file(path, chosen)
    if name.startswith("tfds/"):
        name = name.removeprefix("tfds/")
        task = get_task(name)
        read = functools.partial(read_tfds, task, name)
        return dataclasses.replace(task, read=read)
    tasks = known_tasks()
    if name not in tasks:
        raise InputError(
            f"No task is named {name!r}; the known tasks are "
            f"{', '.join(sorted(tasks))}. Give one of these names, or a Python "
            "file that defines TASKS."
        )
    return tasks[name]


def known_tasks() -> dict[str, Task]:
    """Returns the tasks that the files in this folder define, by name."""
    tasks: dict[str, Task] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        imported = importlib.import_module(f"keras_bert.tasks.{module.name}")
        tasks |= getattr(imported, "TASKS", {})
    return tasks


def _task_of_file(path: str, chosen: str) -> Task:
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no task file at {path}; give a Python file that "
            "defines TASKS."
        )
    spec: Any = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(
            f"{error.filename}, line {error.lineno}, is not Python: "
            f"{error.msg}."
        ) from error
    except ImportError as error:
        raise InputError(f"{path} cannot be imported: {error}.") from error
    tasks = getattr(module, "TASKS", None)
    if not tasks or not isinstance(tasks, dict):
        raise InputError(
            f"{path} defines no tasks; give it a dict TASKS that maps names to "
            "Tasks."
        )
    if len(tasks) == 1 and not chosen:
        (chosen,) = tasks
    if chosen not in tasks:
        raise InputError(
            f"{path} defines the tasks {', '.join(sorted(tasks))}; name one of "
            f"them as {path}:NAME."
        )
    return tasks[chosen]
