"""Exported models have only operations that old releases know.

TensorFlow Serving carries the operations of TensorFlow and tensorflow-text
alone, and often of older releases. `tests/list_operations.py` wrote
`tests/data/operations_2.12.txt` with tensorflow 2.12.1 and tensorflow-text
2.12.1.
"""

from pathlib import Path

import pytest
from exported_models import MODELS
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert.kinds.registry import get_kind, known_kinds

_FILE = Path(__file__).parent.parent / "data" / "operations_2.12.txt"
_OF_TENSORFLOW_TEXT = {
    "FastWordpieceTokenizeWithOffsets",
    "NormalizeUTF8",
    "RegexSplitWithOffsets",
}
# Release 2.12 ignores this name, which is for debugging.
_IGNORED = {("VarHandleOp", "debug_name")}


@pytest.fixture(scope="module")
def old_operations():
    lines = map(str.split, _FILE.read_text().splitlines())
    return {name: set(attributes) for name, *attributes in lines}


def _nodes(folder):
    """Returns the nodes of the graph and of all its functions."""
    saved_model = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    (meta_graph,) = saved_model.meta_graphs
    graph = meta_graph.graph_def
    functions = graph.library.function
    return [*graph.node, *(node for f in functions for node in f.node_def)]


# The other models are checked by `make test-all`.
_SOON_CHECKED = ("classification",)


@pytest.mark.parametrize(
    "portable", [False, pytest.param(True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if name in _SOON_CHECKED else [pytest.mark.slow]
        )
        for name in MODELS
    ],
)
def test_tensorflow_2_12_has_all_operations(
    name, portable, exported, old_operations
):
    nodes = _nodes(exported(name, portable=portable))
    used = {node.op for node in nodes}
    assert used - old_operations.keys() == set()
    assert bool(used & _OF_TENSORFLOW_TEXT) != portable
    attributes = {
        (node.op, attribute)
        for node in nodes
        for attribute in node.attr
        if not attribute.startswith("_")  # a hint for the runtime
    }
    assert {
        (operation, attribute)
        for operation, attribute in attributes - _IGNORED
        if attribute not in old_operations[operation]
    } == set()


def test_each_kind_is_exported():
    known = {name for name in known_kinds() if _is_ours(get_kind(name))}
    assert {name.split()[0] for name in MODELS} == known | {"encoder"}


def _is_ours(kind):
    """Other tests define kinds of their own."""
    return kind.__module__.startswith("keras_bert.")
