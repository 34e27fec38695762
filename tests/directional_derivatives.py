"""The derivative of a loss along a random direction of weights, in two ways."""

import numpy as np
import tensorflow as tf


def directional_derivatives(loss, weights, rng, size):
    """Returns it by gradients, and by a difference over twice the size."""
    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, [weight.value for weight in weights])
    steps = [rng.normal(size=w.shape).astype("float32") for w in weights]
    by_gradients = sum(
        float(tf.reduce_sum(tf.convert_to_tensor(gradient) * step))
        for gradient, step in zip(gradients, steps, strict=True)
        if gradient is not None  # of a weight that the loss does not read
    )
    before = [np.array(weight) for weight in weights]
    values = []
    for sign in (1, -1):
        for weight, start, step in zip(weights, before, steps, strict=True):
            weight.assign(start + sign * size * step)
        values.append(float(loss()))
    for weight, start in zip(weights, before, strict=True):
        weight.assign(start)
    return by_gradients, (values[0] - values[1]) / (2 * size)
