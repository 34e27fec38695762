"""A model and rows -> the model's answers, and their metrics."""

from collections.abc import Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.kinds.kind import Answer, Kind
from keras_bert.kinds.network_calls import Tensors
from keras_bert.progress import Progress
from keras_bert.tasks.base import Row
from keras_bert.training.distribution import require_tensorflow, without_tuning
from keras_bert.training.objectives import Objective


class Evaluation:
    """Computes the metrics of models on one set of rows, encoded once."""

    def __init__(self, kind: Kind, rows: Sequence[Row], *, batch_size: int):
        if not rows:
            raise InputError(
                "There are no rows to evaluate; give labeled rows."
            )
        self.rows = rows
        self._kind = kind
        self._examples = kind.encode(rows, labeled=True)
        kind.gold(rows)  # raises InputError now, not after training
        # The graph of the batches is made once, for all evaluations of a run.
        self._batches = evaluation_batches(
            self._examples, batch_size=batch_size
        )
        self._predictor: Predictor | None = None

    def __call__(
        self, model: keras.Model, *, tune: bool = False
    ) -> tuple[list[Answer], dict[str, float]]:
        """Returns the answers and their metrics, including the `loss`.

        The loss is left out if the texts and labels of the rows are not those
        that it needs. With `tune`, the kind first tunes the weights that
        training does not change, such as thresholds, on these rows.
        """
        kind = self._kind
        if self._predictor is None or self._predictor.model is not model:
            self._predictor = Predictor(model, kind.objectives)
        outputs, loss = self._predictor(*self._batches)
        if tune:
            outputs = kind.tune(model, self._examples, outputs)
        answers = kind.answer(self.rows, self._examples, outputs)
        metrics = kind.score(self.rows, answers, kind.spec.metrics)
        return answers, metrics | ({} if loss is None else {"loss": loss})


class Predictor:
    """Computes the outputs for all examples, batch by batch, and the loss.

    The network runs on the default device, outside of any strategy. In a run on
    a TPU, this device is the CPU of the host, which takes batches of all
    shapes.
    """

    def __init__(self, model: keras.Model, objectives: Mapping[str, Objective]):
        require_tensorflow()
        self.model = model
        self._objectives = objectives
        self._run = tf.function(self._outputs_and_sums, autograph=False)

    def __call__(
        self, dataset: tf.data.Dataset, order: np.ndarray
    ) -> tuple[dict[str, list[np.ndarray]], float | None]:
        """Returns the outputs of all examples, by name, and the loss.

        The arguments are the results of `evaluation_batches`. Each output is a
        list with an array for each example, in the order of the examples.
        Arrays with an axis of tokens are as long as the padded batch of the
        example. The loss is None without labels.
        """
        outputs: dict[str, list] = {
            name: [None] * len(order) for name in self.model.output
        }
        sums = {name: np.zeros(2) for name in dataset.element_spec[1]}
        places = iter(order)
        # One graph for batches of all sizes.
        run = self._run.get_concrete_function(
            *tf.nest.map_structure(
                lambda x: tf.TensorSpec([None] * x.shape.rank, x.dtype),
                dataset.element_spec,
            )
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

    def _outputs_and_sums(
        self, features: Tensors, labels: Tensors, weights: Tensors
    ) -> tuple[Tensors, Tensors]:
        outputs = self.model(features, training=False)
        sums = {}
        for name in labels:
            values = labels[name], outputs[name], weights[name]
            sums[name] = tf.stack(self._objectives[name].sums(*values)["loss"])
        return outputs, sums
