"""Measures the time that an optimizer takes to update a whole model.

    python benchmarks/optimizer_speed.py

The optimizers take turns in one process and apply the same gradients. The
table shows the median time of each optimizer and its ratio to keras_bert's
AdamWeightDecay.
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags

from keras_bert.config import BertConfig
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.training.optimizers.adam import AdamWeightDecay, Lamb

_MODEL = flags.DEFINE_string("model", "bert_base_uncased", "The model.")
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Timed updates per optimizer.")


def main(_):
    # TensorFlow warns when it traces five functions, one for each optimizer.
    tf.get_logger().setLevel("ERROR")
    model = build_pretraining_model(BertConfig.from_name(_MODEL.value))
    variables = model.trainable_variables
    # Their global norm is above 1, so the optimizers clip them.
    grads = [
        tf.Variable(tf.random.stateless_normal(v.shape, (0, i)) * 1e-3)
        for i, v in enumerate(variables)
    ]
    updates = {
        name: _update_function(optimizer, variables, grads)
        for name, optimizer in {
            "AdamWeightDecay, one pass": AdamWeightDecay(1e-4),
            "AdamWeightDecay, op by op": OpByOp(1e-4),
            "keras.optimizers.AdamW": keras.optimizers.AdamW(
                1e-4, global_clipnorm=1.0
            ),
            "Lamb": Lamb(1e-4),
            "keras.optimizers.Lamb": keras.optimizers.Lamb(
                1e-4, global_clipnorm=1.0
            ),
        }.items()
    }
    seconds = {name: [] for name in updates}
    for i in range(_ROUNDS.value + 1):
        for name, update in updates.items():
            begin = time.perf_counter()
            update()
            if i:  # the first update traces and compiles
                seconds[name].append(time.perf_counter() - begin)
    medians = {name: np.median(times) for name, times in seconds.items()}
    baseline = next(iter(medians.values()))
    print(f"{_MODEL.value}, {model.count_params():,} weights")
    print("| optimizer | ms | ratio |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median * 1e3:.0f} | {median / baseline:.2f} |")


class OpByOp(AdamWeightDecay):
    """Like AdamWeightDecay, but with Keras' clipping and TensorFlow's Adam."""

    def _clip_gradients(self, grads):
        return keras.optimizers.Optimizer._clip_gradients(self, grads)

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        if not self._excluded[index]:
            variable.assign_sub(
                variable * (learning_rate * self.weight_decay_rate)
            )
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=0.0,
            beta2_power=0.0,
            lr=learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )


def _update_function(optimizer, variables, grads):
    optimizer.build(variables)
    return tf.function(lambda: optimizer.apply(list(grads), variables))


if __name__ == "__main__":
    app.run(main)
