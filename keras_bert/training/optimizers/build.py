"""The optimizer of a run, by its name in the config."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import tensorflow as tf

from keras_bert.training.config import TrainConfig
from keras_bert.training.optimizers.adam_weight_decay import AdamWeightDecay
from keras_bert.training.optimizers.adamw import AdamW
from keras_bert.training.optimizers.lamb import Lamb
from keras_bert.training.optimizers.schedule import WarmupDecay


def build_optimizer(
    config: TrainConfig,
    num_train_steps: int,
    num_warmup_steps: int,
    learning_rate_factors: Mapping[str, float] | None = None,
) -> keras.optimizers.Optimizer:
    """Returns `config.optimizer` with BERT's schedule, clipping and decay.

    `learning_rate_factors` are those of `factor_of`.

    In float16 it also scales the loss and skips every step whose gradients
    are not finite.
    """
    optimizer = _build(
        config, num_train_steps, num_warmup_steps, learning_rate_factors
    )
    if config.precision == "float16":
        return LossScaleOptimizer(optimizer)
    return optimizer


@keras.saving.register_keras_serializable(package="keras_bert")
class LossScaleOptimizer(keras.optimizers.LossScaleOptimizer):
    """Scales the loss in float16; checks the gradients of all replicas.

    Keras' own optimizer checks those of the first replica only.
    """

    def check_finite(self, grads):
        overflows = tf.cast(~super().check_finite(grads), tf.float32)
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, overflows) == 0


def _build(config, num_train_steps, num_warmup_steps, learning_rate_factors):
    schedule = WarmupDecay(
        config.learning_rate,
        num_train_steps,
        num_warmup_steps,
        config.decay_power,
    )
    if config.optimizer == "adamw":
        optimizer = AdamW(
            schedule,
            weight_decay=config.weight_decay_rate,
            global_clipnorm=config.clip_norm,
            learning_rate_factors=learning_rate_factors,
        )
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        return optimizer
    ours = {"adam_weight_decay": AdamWeightDecay, "lamb": Lamb}
    return ours[config.optimizer](
        schedule,
        weight_decay_rate=config.weight_decay_rate,
        global_clipnorm=config.clip_norm,
        learning_rate_factors=learning_rate_factors,
    )
