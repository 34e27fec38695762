"""Model + preprocessor -> a SavedModel that takes raw strings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.atomic import atomic_path


def export_saved_model(
    model: keras.Model,
    preprocessor: Callable[..., dict[str, tf.Tensor]],
    export_dir: str | Path,
    *,
    labels: Sequence[str] = (),
    num_texts: int = 1,
) -> None:
    """Writes a SavedModel for TensorFlow Serving and `run_scripts/predict.py`.

    Its `serving_default` takes strings [B], named `text`, or `text_a` and
    `text_b` where `num_texts` is 2. It returns `label` [B], string, and
    `scores` [B, L], float32 probabilities in the order of the file
    `assets/labels.txt`; without labels only `score` [B], the number of a
    regression. Needs tensorflow and tensorflow_text to load, nothing else.

    Args:
        model: Features -> a dict with `logits` [B, L], or [B, 1].
        preprocessor: A tf.Module, strings [B] -> features.
        export_dir: The folder to write; appears when it is whole.
        labels: Names of the columns of `logits`.
        num_texts: How many texts an example has, 1 or 2.
    """
    with tempfile.TemporaryDirectory() as assets:
        module = _Served(model, preprocessor, labels, Path(assets))
        names = ["text"] if num_texts == 1 else ["text_a", "text_b"]
        serve = tf.function(
            module.answer,
            input_signature=[
                tf.TensorSpec([None], tf.string, name) for name in names
            ],
            autograph=False,
        )
        with atomic_path(export_dir) as path:
            tf.saved_model.save(module, str(path), {"serving_default": serve})


class _Served(tf.Module):
    """What the SavedModel keeps: weights, preprocessor, names of labels."""

    def __init__(self, model, preprocessor, labels, assets):
        super().__init__()
        self._model = model
        self._preprocessor = preprocessor
        self._labels = tuple(labels)
        if labels:
            file = assets / "labels.txt"
            file.write_text("\n".join(labels) + "\n", encoding="utf-8")
            self._labels_file = tf.saved_model.Asset(str(file))

    def answer(self, *texts):
        logits = self._model(self._preprocessor(*texts))["logits"]
        if not self._labels:
            return {"score": logits[:, 0]}
        return {
            "label": tf.gather(
                tf.constant(self._labels), tf.argmax(logits, axis=-1)
            ),
            "scores": tf.nn.softmax(logits),
        }
