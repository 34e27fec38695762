"""Takes steps of a network as `train` does, without its files."""

import tensorflow as tf

from keras_bert.training.steps import WORK, Steps


def count_nothing(features):
    return dict.fromkeys(WORK, 1.0)


def fit(steps: Steps, batches, *, steps_per_epoch, epochs=1, after_epoch=None):
    """Returns the figures of each epoch, by name.

    `after_epoch` takes the number of the epoch and may return more figures.
    """
    history: dict[str, list] = {}
    iterator = iter(batches)
    for epoch in range(epochs):
        steps.reset_metrics()
        for _ in range(steps_per_epoch // steps.steps_per_execution):
            figures = steps.train(iterator)
        figures = {name: float(value) for name, value in figures.items()}
        figures |= after_epoch(epoch) or {} if after_epoch else {}
        for name, value in figures.items():
            history.setdefault(name, []).append(value)
    return history


def fit_arrays(steps: Steps, *data, num_steps=1, batch_size=None):
    """Fits to arrays, in one batch by default; returns the last figures."""
    dataset = tf.data.Dataset.from_tensor_slices(data)
    size = batch_size or int(dataset.cardinality())
    dataset = dataset.batch(size).repeat()
    history = fit(steps, dataset, steps_per_epoch=num_steps)
    return {name: values[-1] for name, values in history.items()}
