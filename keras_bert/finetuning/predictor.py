"""Runs a network on examples; its graph is built once."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.kinds.examples import Examples
from keras_bert.progress import Progress
from keras_bert.training.dataset_options import without_tuning
from keras_bert.training.objectives import Objective


class Predictor:
    """Called on examples, returns the outputs of each and the loss of all.

    It runs on the default device, under no strategy. In a run on a TPU, this is
    the CPU of its host, which takes batches of all shapes.
    """

    def __init__(self, model: keras.Model, objectives: Mapping[str, Objective]):
        self.model = model
        self._objectives = objectives
        self._run = tf.function(self._outputs_and_sums, autograph=False)

    def __call__(
        self, examples: Examples, *, batch_size: int
    ) -> tuple[dict[str, list[np.ndarray]], float | None]:
        """Returns, by name, an array for each example in order, and the loss.

        Outputs with an axis of tokens are as long as the batch of the
        example. The loss is None if the examples have no labels.
        """
        dataset, order = evaluation_batches(examples, batch_size=batch_size)
        outputs: dict[str, list] = {
            name: [None] * len(order) for name in self.model.output
        }
        sums = {name: np.zeros(2) for name in examples.labels}
        places = iter(order)
        # One graph for batches of all sizes.
        run = self._run.get_concrete_function(
            *tf.nest.map_structure(_of_any_size, dataset.element_spec)
        )
        with Progress("Evaluating", len(order), "examples") as progress:
            for batch in without_tuning(dataset):
                arrays, batch_sums = run(*batch)
                arrays = {name: x.numpy() for name, x in arrays.items()}
                num_examples = len(batch[0]["input_ids"])
                for i in range(num_examples):
                    place = next(places)
                    for name, array in arrays.items():
                        outputs[name][place] = array[i]
                for name, pair in batch_sums.items():
                    sums[name] += pair.numpy()
                progress.update(num_examples)
        if not sums:
            return outputs, None
        loss = sum(x / max(weight, 1e-5) for x, weight in sums.values())
        return outputs, float(loss)

    def _outputs_and_sums(self, features, labels, weights):
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
