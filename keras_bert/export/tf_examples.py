"""Signatures that take serialized tf.Examples instead of strings."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.kinds.signatures import Signature

PREDICT = tf.saved_model.PREDICT_METHOD_NAME


def takes_examples(signature: Signature) -> bool:
    """Returns whether a signature takes nothing but tf.Examples.

    The Classify and the Regress API of TensorFlow Serving have no other
    requests.
    """
    return signature.method != PREDICT


def from_examples(signature: Signature) -> Signature:
    """Returns the signature that takes its inputs as features of tf.Examples.

    An input of rank 1 is a feature with one string. An input of rank 2 is a
    feature with any number of strings, and is padded with "".
    """
    features = {
        x.name: tf.io.FixedLenFeature([], tf.string)
        if x.shape.rank == 1
        else tf.io.RaggedFeature(tf.string)
        for x in signature.inputs
    }

    def answer(examples):
        parsed = tf.io.parse_example(examples, features)
        return signature.function(
            *(
                x.to_tensor() if isinstance(x, tf.RaggedTensor) else x
                for x in (parsed[spec.name] for spec in signature.inputs)
            )
        )

    # TensorFlow Serving looks for this name in Classify and Regress.
    name = (
        tf.saved_model.CLASSIFY_INPUTS
        if takes_examples(signature)
        else "examples"
    )
    inputs = [tf.TensorSpec([None], tf.string, name)]
    return signature._replace(function=answer, inputs=inputs)


def make_example(signature: Signature, text: str) -> tf.train.Example:
    """Returns an example with this text in each input of a signature."""
    example = tf.train.Example()
    for spec in signature.inputs:
        texts = example.features.feature[spec.name].bytes_list.value
        texts.extend([text.encode()] * (1 if spec.shape.rank == 1 else 2))
    return example
