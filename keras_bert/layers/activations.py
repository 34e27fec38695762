"""The activations that `bert_config.json` names."""

from collections.abc import Callable

import keras

from keras_bert.layers.gelu import gelu_erf, gelu_tanh


def get_activation(hidden_act: str) -> Callable:
    """Returns the activation that BERT, not Keras, means by a name.

    "gelu" is the tanh form of google-research/bert. Keras' own "gelu" is the
    erf form, which is "gelu_erf" here.
    """
    activations = {
        "gelu": gelu_tanh,
        "gelu_erf": gelu_erf,
        "linear": keras.activations.linear,
        "relu": keras.activations.relu,
        "tanh": keras.activations.tanh,
    }
    if hidden_act not in activations:
        raise ValueError(
            f"Activation {hidden_act!r} is not one of {', '.join(activations)}."
        )
    return activations[hidden_act]
