import ast
from pathlib import Path

import keras_bert
from keras_bert.checkpoints.heads import known_heads
from keras_bert.kinds.registry import known_kinds

PACKAGE = Path(keras_bert.__file__).parent


def _strings(file):
    """Yields the string constants of a file, without docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    statements = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in statements:
                yield node.value


def test_only_kinds_and_tasks_name_a_kind():
    """So that a new kind of task needs no edit elsewhere."""
    # A layer, and so the paths of its weights, may have the name of a kind.
    # An embedding is also a vector that a server answers with.
    heads = {head.path for head in known_heads()}
    kinds = set(known_kinds()) - heads - {"embedding"}
    assert len(kinds) > 4
    files = {
        file: set(_strings(file)) & kinds for file in PACKAGE.rglob("*.py")
    }
    named = [file.relative_to(PACKAGE) for file in files if files[file]]
    assert {file.parts[0] for file in named} == {"kinds", "tasks"}
