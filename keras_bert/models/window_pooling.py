"""A network of one row per example -> a network of several rows per example."""

from collections.abc import Iterable

import keras

from keras_bert.layers.reshaping import FoldChoices
from keras_bert.layers.sequences import WindowPooling


def pool_windows(model: keras.Model, pooling: str) -> keras.Model:
    """Returns a network for texts in windows, built from a network for texts.

    Every output, such as `logits` [B, L], becomes the mean or the maximum over
    the windows of a text, element by element. A window without a token is
    ignored. The weights are the model's own, under the same paths.

    Inputs: the model's, with an axis of windows W, int32 [B, W, S].
    Outputs: the same as the model's.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.pool_windows(
        ...     keras_bert.models.build_classifier(config, num_labels=3), "mean"
        ... )
        >>> ids = np.ones([2, 4, 7], "int32")
        >>> features = {"input_ids": ids, "input_mask": ids}
        >>> model(features | {"segment_ids": ids * 0})["logits"].shape
        TensorShape([2, 3])
    """
    inputs, windows = fold_inputs(model.input)  # [B, W, S], [B*W, S]
    outputs = {
        name: WindowPooling(pooling, dtype="float32", name=f"pool_{name}")(
            x, inputs["input_mask"]
        )
        for name, x in model(windows).items()
    }
    return keras.Model(inputs, outputs, name=f"{model.name}_of_windows")


def fold_inputs(
    names: Iterable[str],
) -> tuple[dict[str, keras.KerasTensor], dict[str, keras.KerasTensor]]:
    """Returns int32 inputs [B, R, S] by name, and their rows as [B*R, S]."""
    inputs = {
        name: keras.Input((None, None), dtype="int32", name=name)
        for name in names
    }
    rows = {n: FoldChoices(name=f"fold_{n}")(x) for n, x in inputs.items()}
    return inputs, rows
