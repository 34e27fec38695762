"""Requests that a server answers before it says that a model is ready.

The first answers of a model are slow, because TensorFlow then optimizes its
graphs and takes its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf
from absl import logging

from keras_bert.export.tf_examples import make_example, takes_examples
from keras_bert.kinds.signatures import Signature
from keras_bert.predict.versions import WARM_UP

# A short text and one that fills most of a sequence.
_TEXTS = ("warm up", "warm up " * 60)


def write_warm_up(
    saved_model: Path, signatures: Mapping[str, Signature]
) -> None:
    """Writes requests to each signature, as a TFRecord of `PredictionLog`.

    Without the extra `serve`, it only logs what is missing.
    """
    try:
        from tensorflow_serving.apis import prediction_log_pb2
    except ImportError:
        logging.warning(
            "The export has no warm-up requests, so the first answers of a "
            "server are slow; run pip install 'keras-bert-tf[serve]'."
        )
        return
    file = saved_model / WARM_UP
    file.parent.mkdir()
    with tf.io.TFRecordWriter(str(file)) as writer:
        for name, signature in signatures.items():
            for text in _TEXTS:
                log = prediction_log_pb2.PredictionLog()
                _fill(log, name, signature, text)
                writer.write(log.SerializeToString(deterministic=True))


def _fill(log, name, signature, text):
    if takes_examples(signature):
        is_classify = signature.method == tf.saved_model.CLASSIFY_METHOD_NAME
        request = (log.classify_log if is_classify else log.regress_log).request
        request.input.example_list.examples.append(
            make_example(signature, text)
        )
    else:
        request = log.predict_log.request
        for spec in signature.inputs:
            value = tf.constant(text if spec.dtype == tf.string else 1)
            tensor = tf.fill([1, 2, 2][: spec.shape.rank], value)
            request.inputs[spec.name].CopyFrom(
                tf.make_tensor_proto(tf.cast(tensor, spec.dtype))
            )
    request.model_spec.signature_name = name
