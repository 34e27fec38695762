"""Which weights of a pre-trained model are trained, and at which rate."""

import math
import re
from typing import Any

import keras
from absl import logging

from keras_bert.checkpoints.adapters import is_stored_with_adapters
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.config import AdaptationConfig
from keras_bert.models.lora import add_lora, check_lora

# The paths of the weights below the first block: the tables of words, positions
# and segments, their projection, and the relative positions that all blocks
# read.
_LOWEST = "^(embeddings|flatten_tokens|relative_positions)/"


def check_adaptation(
    config: AdaptationConfig, bert_config: BertConfig, checkpoint: Any
) -> None:
    """Raises InputError if a network cannot be trained as the config says."""
    num_layers = bert_config.num_hidden_layers
    if config.num_frozen_layers > num_layers:
        raise InputError(
            f"num_frozen_layers is {config.num_frozen_layers}, but the encoder "
            f"has {num_layers} layers."
        )
    if not config.lora_rank:
        return
    if not checkpoint:
        raise InputError(
            "lora_rank trains adapters of a pre-trained model, but there is no "
            "checkpoint; give a checkpoint, or leave out lora_rank."
        )
    check_lora(bert_config, config.lora_rank, config.lora_targets)


def check_for_fit(model: keras.Model) -> None:
    """Raises InputError if the network has settings that `fit` ignores.

    `fit` trains a new network with the settings of its config.
    """
    for layer in model.layers:
        if not layer.trainable:
            raise InputError(
                f"The layer {layer.name} has trainable=False, which fit "
                "ignores; set it to True, and give num_frozen_layers or "
                "freeze_embeddings in the config of fit."
            )
    if model.compiled:
        raise InputError(
            "The network is compiled, but this fit ignores its optimizer, "
            "loss and metrics; call model.model.fit, or load the "
            "model again and give the settings in the config of fit."
        )


def adapt(model: keras.Model, config: AdaptationConfig) -> None:
    """Adds adapters to a model with loaded weights, and freezes weights."""
    if config.lora_rank:
        add_lora(model, config.lora_rank, config.alpha, config.lora_targets)
    for weight in model.weights:
        if _is_frozen(weight.path, config):
            weight.trainable = False
    if not all(weight.trainable for weight in model.weights):
        trained = sum(math.prod(x.shape) for x in model.trainable_weights)
        count = model.count_params()
        logging.info("%d of %d weights are trained", trained, count)


def learning_rate_factors(
    config: AdaptationConfig, num_layers: int
) -> dict[str, float]:
    """Returns learning-rate factors by path pattern; {} if all are 1."""
    factors = {_LOWEST: config.layer_decay ** (num_layers + 1)}
    for i in range(num_layers):
        factors[f"^layer_{i}/"] = config.layer_decay ** (num_layers - i)
    factors["^final_layer_norm/"] = 1.0
    head_rate = config.head_learning_rate or config.learning_rate
    factors[""] = head_rate / config.learning_rate  # all other weights
    return factors if set(factors.values()) != {1.0} else {}


def _is_frozen(path: str, config: AdaptationConfig) -> bool:
    if config.lora_rank:
        return not is_stored_with_adapters(path)
    if re.match(_LOWEST, path):
        return config.freeze_embeddings or config.num_frozen_layers > 0
    layer = re.match(r"layer_(\d+)/", path)
    return layer is not None and int(layer[1]) < config.num_frozen_layers
