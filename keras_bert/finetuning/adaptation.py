"""Which weights of a pre-trained model are trained, and at which rate."""

from __future__ import annotations

import dataclasses
import re

import keras
from absl import logging

from keras_bert.checkpoints.adapters import is_adapter
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.models.lora import add_lora, check_lora
from keras_bert.settings import setting
from keras_bert.training.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class AdaptationConfig(TrainConfig):
    """What of a pre-trained model is trained, and at which rate.

    The head is everything but the embeddings and the encoder blocks: also the
    pooler.

    Attributes:
        lora_rank: Trains adapters of this rank (LoRA, arXiv 2106.09685) and
            the head, and nothing else; 0 trains the weights themselves. Needs
            about 10 times the usual learning rate.
        lora_alpha: The adapters are multiplied by this number divided by
            lora_rank; by default, it is lora_rank.
        lora_targets: The dense layers of each encoder block that get an
            adapter: query, key, value, intermediate, output (both layers of
            this name), attention/output; with commas between.
        num_frozen_layers: Trains neither the embeddings nor this number of
            encoder blocks, from the lowest one; 0 trains all.
        freeze_embeddings: Whether the embeddings stay as they are.
        head_learning_rate: The learning_rate of the head, if it is another.
        layer_decay: The top encoder block has learning_rate times this
            number, and each block, and at last the embeddings, the rate above
            it times this number again (0.8 in ELECTRA); 1 for one rate.
    """

    lora_rank: int = setting(0, minimum=0)
    lora_alpha: float | None = None
    lora_targets: str = "query,value"
    num_frozen_layers: int = setting(0, minimum=0)
    freeze_embeddings: bool = False
    head_learning_rate: float | None = None
    layer_decay: float = setting(1.0, maximum=1)

    @property
    def alpha(self) -> float:
        """`lora_alpha` or its default."""
        return float(self.lora_alpha or self.lora_rank)

    def __post_init__(self):
        super().__post_init__()
        if self.lora_rank and (
            self.num_frozen_layers or self.freeze_embeddings
        ):
            raise InputError(
                "With lora_rank, all weights but adapters and head are frozen "
                "already; leave num_frozen_layers and freeze_embeddings out."
            )


def check_adaptation(
    config: AdaptationConfig, bert_config: BertConfig, init_checkpoint
) -> None:
    """Raises InputError if the network cannot be adapted in this way."""
    num_layers = bert_config.num_hidden_layers
    if config.num_frozen_layers > num_layers:
        raise InputError(
            f"num_frozen_layers is {config.num_frozen_layers}, but the encoder "
            f"has {num_layers} layers."
        )
    if not config.lora_rank:
        return
    if not init_checkpoint:
        raise InputError(
            "lora_rank trains adapters of a pre-trained model, but there is no "
            "init_checkpoint; give one, or leave lora_rank out."
        )
    check_lora(bert_config, config.lora_rank, config.lora_targets)


def adapt(model: keras.Model, config: AdaptationConfig) -> None:
    """Adds the adapters to a model with its weights, and freezes weights."""
    if config.lora_rank:
        add_lora(model, config.lora_rank, config.alpha, config.lora_targets)
    for weight in model.weights:
        if _is_frozen(weight.path, config):
            weight.trainable = False
    if not all(weight.trainable for weight in model.weights):
        logging.info(
            "%d of %d weights are trained",
            *(
                sum(weight.value.shape.num_elements() for weight in weights)
                for weights in (model.trainable_weights, model.weights)
            ),
        )


def learning_rate_factors(
    config: AdaptationConfig, num_layers: int
) -> dict[str, float]:
    """Returns the factors of `build_optimizer`; none if all are 1."""
    factors = {"^embeddings/": config.layer_decay ** (num_layers + 1)}
    for i in range(num_layers):
        factors[f"^layer_{i}/"] = config.layer_decay ** (num_layers - i)
    head_rate = config.head_learning_rate or config.learning_rate
    factors[""] = head_rate / config.learning_rate  # all other weights
    return factors if set(factors.values()) != {1.0} else {}


def _is_frozen(path, config):
    part = re.match(r"embeddings/|layer_(\d+)/", path)
    if part is None:
        return False
    if config.lora_rank:
        return not is_adapter(path)
    if part[1] is None:
        return config.freeze_embeddings or config.num_frozen_layers > 0
    return int(part[1]) < config.num_frozen_layers
