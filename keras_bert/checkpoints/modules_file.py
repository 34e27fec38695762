"""The `modules.json` of sentence-transformers: the parts of an embedder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError

MODULES_FILE = "modules.json"


def modules_folder(folder: Path) -> Path | None:
    """Returns the folder with modules.json: that of the weights or above."""
    if (folder / MODULES_FILE).is_file():
        return folder
    if (folder.parent / MODULES_FILE).is_file():
        for module in read_modules_file(folder.parent)[:1]:
            if module["path"] == folder.name:
                return folder.parent
    return None


def dense_folders(folder: Path) -> list[Path]:
    """Returns the folders of the Dense modules beside a folder's weights."""
    root = modules_folder(folder)
    modules = read_modules_file(root) if root else []
    return [root / x["path"] for x in modules if module_class(x) == "Dense"]


def module_class(module: dict[str, Any]) -> str:
    """Returns the class of a module; with its library if that is another."""
    library, _, name = module["type"].partition(".")
    is_known = library == "sentence_transformers"
    return name.rpartition(".")[2] if is_known else module["type"]


def read_modules_file(root: Path) -> list[dict[str, Any]]:
    """Returns the modules of a folder, each with its type and its path."""
    modules = read_json(root / MODULES_FILE, list)
    for module in modules:
        if not (isinstance(module, dict) and {"type", "path"} <= set(module)):
            raise InputError(
                f"{root / MODULES_FILE} has the module {module!r}, but a "
                "module must have a type and a path; copy the file again."
            )
    return modules


def read_json(file: Path, of_type: type = dict) -> Any:
    """Reads an object or a list; raises InputError if it is not one."""
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; copy the whole folder of the model again."
        )
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{file} is not JSON ({error}); copy it again."
        ) from error
    if not isinstance(values, of_type):
        what = "an object" if of_type is dict else "a list"
        raise InputError(f"{file} is not {what}; copy it again.")
    return values
