"""Enforces the dependency order of the package by reading its imports."""

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "keras_bert"

# Maps a part (a folder or a file of keras_bert) to the parts it may import. A
# part imports only parts above it.
MAY_IMPORT = {
    "quiet_tensorflow": set(),
    "errors": set(),
    "progress": set(),
    "io": {"errors"},
    "settings": {"errors"},
    "families": {"errors"},
    "family_configs": {"errors", "families"},
    "config": {"errors", "families", "family_configs", "io", "settings"},
    # The one file of the network that may know a backend.
    "layers/backend": set(),
    "layers": {"errors", "layers/backend"},
    "models": {"config", "errors", "layers"},
    "text": {"errors", "io", "settings"},
    "tasks": {"errors", "io"},
    "training": {"errors", "io", "progress", "settings"},
    "checkpoints": {
        "config",
        "errors",
        "families",
        "family_configs",
        "io",
        "models",
        "settings",
        "text",
    },
    "kinds": {
        "checkpoints",
        "config",
        "errors",
        "family_configs",
        "io",
        "layers",
        "models",
        "settings",
        "tasks",
        "text",
        "training",
    },
    "predict": {"config", "errors", "io", "kinds", "progress", "text"},
    "export": {
        "checkpoints",
        "config",
        "errors",
        "io",
        "kinds",
        "layers",
        "models",
        "predict",
        "progress",
        "settings",
        "text",
        "training",
    },
    "finetuning": {
        "checkpoints",
        "config",
        "errors",
        "export",
        "family_configs",
        "io",
        "kinds",
        "models",
        "predict",
        "progress",
        "settings",
        "tasks",
        "training",
    },
    "pretraining/records": {"errors", "io"},
    "pretraining/write": {
        "errors",
        "io",
        "pretraining/records",
        "progress",
        "quiet_tensorflow",
        "settings",
        "text",
    },
    "pretraining/read": {
        "errors",
        "io",
        "pretraining/records",
        "pretraining/write",
        "text",
        "training",
    },
    "pretraining": {
        "checkpoints",
        "config",
        "errors",
        "export",
        "io",
        "models",
        "pretraining/read",
        "progress",
        "settings",
        "text",
        "training",
    },
    "vectors": {
        "checkpoints",
        "config",
        "errors",
        "finetuning",
        "io",
        "kinds",
        "models",
        "predict",
        "progress",
        "settings",
        "tasks",
        "text",
        "training",
    },
    "server": {"errors", "io", "predict", "settings", "text"},
    "commands": {
        "config",
        "errors",
        "io",
        "progress",
        "quiet_tensorflow",
        "server",
        "settings",
        "tasks",
    },
    "registration": set(),
    "__main__": {"commands"},
    # The rest is imported on first use, as __init__.pyi says.
    "__init__": {"registration"},
}
# Maps a part to the libraries it must never import.
NEVER = {
    "layers": {"tensorflow", "tensorflow_text", "jax", "torch"},
    "models": {"tensorflow", "tensorflow_text", "jax", "torch"},
    "text": {"keras"},
    "tasks": {"tensorflow", "keras"},
    "run_scripts": {"keras", "tensorflow_datasets"},
}


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def _part(name):
    """Returns the part of a path or a module, such as pretraining/write."""
    for part in sorted(MAY_IMPORT, key=len, reverse=True):
        if name == part or name.startswith(f"{part}/"):
            return part
    raise AssertionError(f"{name} does not belong to a part")


def test_a_part_imports_only_parts_above_it():
    parts = list(MAY_IMPORT)
    for i, part in enumerate(parts):
        assert MAY_IMPORT[part] <= set(parts[:i]), part


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.name)
)
def test_a_part_imports_only_what_the_table_allows(path):
    part = _part(str(path.relative_to(PACKAGE).with_suffix("")))
    for name in _imports(path):
        first, _, rest = name.partition(".")
        if first == "keras_bert" and rest:
            imported = _part(rest.replace(".", "/"))
            assert imported in MAY_IMPORT[part] | {part}, f"imports {name}"
        assert first not in NEVER.get(part, ()), f"{path} imports {name}"


def test_every_import_in_the_table_is_used():
    used = {part: set() for part in MAY_IMPORT}
    for path in PACKAGE.rglob("*.py"):
        part = _part(str(path.relative_to(PACKAGE).with_suffix("")))
        for name in _imports(path):
            if name.startswith("keras_bert."):
                rest = name.removeprefix("keras_bert.")
                used[part].add(_part(rest.replace(".", "/")))
    for part, may in MAY_IMPORT.items():
        assert used[part] - {part} == may, part


def test_no_files_import_each_other_in_a_circle():
    """Imports for types count too, and imports inside of functions."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
    }
    files = {name.removesuffix(".__init__"): x for name, x in files.items()}
    imports = {}
    for name, path in files.items():
        imports[name] = imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                # `from package import file` needs the file only.
                files_of_names = names & files.keys()
                imported |= files_of_names or {node.module} & files.keys()
    assert imports["keras_bert.kinds.kind"]
    list(graphlib.TopologicalSorter(imports).static_order())


@pytest.mark.parametrize(
    "path", sorted((ROOT / "run_scripts").glob("*.py")), ids=lambda p: p.name
)
def test_scripts_use_only_the_package_root_and_the_commands(path):
    for name in _imports(path):
        first, *rooms = name.split(".")
        if first == "keras_bert":
            assert rooms[:1] in ([], ["commands"]), f"{path} imports {name}"
        assert first not in NEVER["run_scripts"], name
