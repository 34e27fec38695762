"""The dependency order of the project, enforced by reading the imports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "keras_bert"

# A part (a folder or a file of keras_bert) -> the parts it may import.
MAY_IMPORT = {
    "huggingface_config": set(),
    "config": {"huggingface_config"},
    "atomic": set(),
    "layers": set(),
    "text": {"atomic"},
    "tasks": set(),
    "training": {"atomic"},
    "serving": {"atomic"},
    "models": {"config", "layers"},
    "data": {"atomic", "text", "tasks"},
    "checkpoints": {"atomic", "config", "huggingface_config"},
}
MAY_IMPORT["heads"] = set(MAY_IMPORT) - {"serving", "checkpoints"} | {"reports"}
_PARTS = set(MAY_IMPORT) - {"serving"} | {"flops"}
MAY_IMPORT |= {
    "feature_files": {"atomic", "text"},
    "features": {
        "atomic",
        "checkpoints",
        "config",
        "feature_files",
        "models",
        "text",
    },
    "filling": {"text"},
    "flops": {"config"},
    "reports": {"atomic"},
    "pretraining": _PARTS,
    "predictor": {"data", "training"},
    "finetuned": _PARTS | {"predictor"},
    "evaluation": {"heads", "predictor", "tasks"},
    "grid_search": {"atomic", "finetuning", "tasks"},
    "finetuning": _PARTS | {"evaluation", "finetuned", "reports"},
    "__init__": set(),  # imports on first use, by name
}
# A part -> the libraries it must never import.
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
            yield from (f"{node.module}.{a.name}" for a in node.names)


def _part(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.name)
)
def test_a_part_imports_only_what_it_may(path):
    part = _part(path)
    allowed = MAY_IMPORT[part] | {part}
    for name in _imports(path):
        words = name.split(".")
        if words[0] == "keras_bert" and len(words) > 1:
            assert words[1] in allowed, f"{path} imports {name}"
        assert words[0] not in NEVER.get(part, ()), f"{path} imports {name}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "run_scripts").glob("*.py")), ids=lambda p: p.name
)
def test_scripts_use_only_the_package_root(path):
    for name in _imports(path):
        assert not name.startswith("keras_bert."), f"{path} imports {name}"
        assert name.split(".")[0] not in NEVER["run_scripts"], name
