"""A fine-tuned network -> the same in bfloat16, weights and all."""

import keras

from keras_bert.config import BertConfig
from keras_bert.kinds.kind import Kind


def in_bfloat16(
    model: keras.Model, kind: Kind, bert_config: BertConfig
) -> keras.Model:
    """Returns a network whose weights take half of the memory.

    It computes in bfloat16, but for the softmax of the attention, the layer
    norms and the output layer.
    """
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("bfloat16")
    try:
        copy = kind.build_model(bert_config)
    finally:
        keras.config.set_dtype_policy(policy)
    for target, source in zip(copy.weights, model.weights, strict=True):
        target.assign(source)
    return copy
