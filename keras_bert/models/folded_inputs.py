"""Inputs of a network whose examples hold several rows."""

from collections.abc import Iterable

import keras

from keras_bert.layers.choices import FoldChoices


def fold_inputs(
    names: Iterable[str],
) -> tuple[dict[str, keras.KerasTensor], dict[str, keras.KerasTensor]]:
    """Returns inputs by name, int32 [B, R, S], and their rows [B*R, S]."""
    inputs = {
        name: keras.Input((None, None), dtype="int32", name=name)
        for name in names
    }
    rows = {
        name: FoldChoices(name=f"fold_{name}")(x) for name, x in inputs.items()
    }
    return inputs, rows
