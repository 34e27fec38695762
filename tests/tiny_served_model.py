"""Exports a tiny model with random weights."""

from conftest import randomize, write_vocab
from kind_examples import export, make_kind


def export_tiny_model(folder, config, kind, **spec):
    """Writes version 1 of a model to a new folder, and returns the folder."""
    folder.mkdir()
    kind = make_kind(kind, write_vocab(folder), config, **spec)
    model = kind.build_model(config)
    randomize(model)
    export(model, kind, folder / "served")
    return folder / "served"
