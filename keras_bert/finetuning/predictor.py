"""Runs a model over examples; the graph is made once."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from keras_bert.finetuning.batches import Examples, evaluation_batches
from keras_bert.training.dataset_options import with_options
from keras_bert.training.objectives import Objective


class Predictor:
    """Called on examples, returns the outputs of each and the loss of all."""

    def __init__(self, model: keras.Model, objectives: Mapping[str, Objective]):
        self.model = model
        self._objectives = objectives
        self._run = tf.function(self._run, autograph=False)

    def __call__(
        self, examples: Examples, *, batch_size: int
    ) -> tuple[dict[str, list[np.ndarray]], float]:
        """Outputs by name, an array for each example, in their order.

        Outputs with an axis of tokens are as long as the batch of the
        example. The loss is 0 where the examples have no labels.
        """
        dataset, order = evaluation_batches(examples, batch_size=batch_size)
        outputs = {name: [None] * len(order) for name in self.model.output}
        sums = {name: np.zeros(2) for name in examples.labels}
        places = iter(order)
        # One graph for batches of all sizes.
        run = self._run.get_concrete_function(
            *tf.nest.map_structure(_of_any_size, dataset.element_spec)
        )
        for batch in with_options(dataset):
            arrays, batch_sums = run(*batch)
            arrays = {name: array.numpy() for name, array in arrays.items()}
            for i in range(len(batch[0]["input_ids"])):
                place = next(places)
                for name, array in arrays.items():
                    outputs[name][place] = array[i]
            for name, pair in batch_sums.items():
                sums[name] += pair.numpy()
        loss = sum(x / max(weight, 1e-5) for x, weight in sums.values())
        return outputs, float(loss)

    def _run(self, features, labels, weights):
        outputs = self.model(features, training=False)
        return outputs, {
            name: tf.stack(
                self._objectives[name].sums(
                    labels[name], outputs[name], weights[name]
                )["loss"]
            )
            for name in labels
        }


def _of_any_size(spec):
    return tf.TensorSpec([None] * spec.shape.rank, spec.dtype)
