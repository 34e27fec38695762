"""One step of training, the same however its batch is split."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from keras_bert.training.losses import weighted_mean
from keras_bert.training.objectives import BatchObjective, Objective
from keras_bert.training.teaching import Teaching

# Features of a batch -> the amounts of WORK in it, by name.
CountWork = Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]]
# `flops` are the operations that training on the batch takes.
WORK = ("sequences", "tokens", "flops")


# Added to a seed once per replica. A prime, so that it shares no factor with
# the number by which Keras reduces a seed: no two replicas get the same one.
_SEED_SHIFT = 1_000_000_007


class TrainingModel(keras.Model):
    """A functional model with losses over the global batch.

    Data are (features, labels, weights), the last two by output. By default
    every label has the weight 1. The loss of an output is the weighted mean
    over all labels of the batch or, with a `BatchObjective`, a function of
    all rows: on all replicas, workers and micro-batches. The losses of the
    outputs are added, each times its weight. Compile the model with an
    optimizer alone.

    With a `teaching`, `model` and `objectives` are its network and objectives.
    The labels that it adds are made for each micro-batch.

    Every row of the global batch gets its own dropout masks. On one device
    these are the same as Keras' own training would draw.

    The log gives a figure of the output `logits` under its own name and those
    of any other output with the name of the output as a prefix.
    """

    def __init__(
        self,
        model: keras.Model,
        objectives: Mapping[str, Objective],
        *,
        count_work: CountWork,
        gradient_accumulation_steps: int = 1,
        jit_compile: bool = False,
        teaching: Teaching | None = None,
    ):
        super().__init__(model.input, model.output, name=model.name)
        self._objectives = dict(objectives)
        self._batch_objectives, self._label_objectives = (
            {
                name: objective
                for name, objective in objectives.items()
                if isinstance(objective, BatchObjective) == of_batch
            }
            for of_batch in (True, False)
        )
        self._num_parts = gradient_accumulation_steps
        self._is_compiled = jit_compile
        # Not the whole step: XLA has no collectives of several replicas.
        compiled = functools.partial(tf.function, jit_compile=True)
        self._take_gradients, self._take_outputs = (
            compiled(function) if jit_compile else function
            for function in (self._gradients, self._outputs_only)
        )
        self._means = {
            (output, figure): keras.metrics.Mean(name=_log_name(output, figure))
            for output, objective in objectives.items()
            for figure in ("loss", *objective.metrics)
        }
        # Functions, so that Keras does not take the teacher for a layer.
        self._more_labels = teaching and teaching.labels
        self._more_weights = teaching and teaching.weights
        self._count_work = count_work
        # Each replica adds up its own amounts: a step sends nothing.
        self._work = tf.Variable(
            tf.zeros(len(WORK)),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    @property
    def metrics(self):
        return list(self._means.values())

    def take_work(self) -> dict[str, float]:
        """Returns the work of all training steps since the last call.

        It is that of all replicas. All workers must call this.
        """
        amounts = self._work.numpy()
        self._work.assign(tf.zeros(len(WORK)))
        return dict(zip(WORK, map(float, amounts), strict=True))

    @property
    def first_device(self) -> str:
        """The device of the first replica of this process."""
        results = self.distribute_strategy.experimental_local_results
        return results(self._work)[0].device

    # Keras' own functions cannot take several steps on two replicas, and they
    # refuse several workers (keras issue 20585).
    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return
        run_step = self._on_all_replicas(self.train_step)

        @functools.partial(tf.function, reduce_retracing=True)
        def take_steps(iterator):
            if self.steps_per_execution > 1:  # a loop traces the step again
                for _ in tf.range(self.steps_per_execution - 1):
                    run_step(next(iterator))
            return run_step(next(iterator))

        self.train_function = take_steps

    def make_test_function(self, force=False):
        if self.test_function is not None and not force:
            return
        run_step = tf.function(
            self._on_all_replicas(self.test_step), reduce_retracing=True
        )

        def take_steps(iterator):
            logs = run_step(next(iterator))
            # The last execution may find fewer batches.
            more = itertools.islice(iterator, self.steps_per_execution - 1)
            for data in more:
                logs = run_step(data)
            return logs

        self.test_function = take_steps

    def _on_all_replicas(self, step):
        strategy = self.distribute_strategy

        @tf.autograph.experimental.do_not_convert
        def run_step(data):
            logs = strategy.run(step, (data,))
            # They are equal on all replicas, which share their sums.
            return {
                name: strategy.experimental_local_results(value)[0]
                for name, value in logs.items()
            }

        return run_step

    def train_step(self, data):
        features, labels, weights = data = self._unpack(data)
        totals = _sum_over_replicas(
            {name: tf.reduce_sum(w) for name, w in weights.items()}
        )
        # Replicas share the seeds, and would all drop the same entries.
        shift = _SEED_SHIFT * tf.cast(_replica_id(), tf.int64)
        seeds = [v.value + [shift, 0] for v in self._seed_variables]
        slopes, batch_sums = None, {}
        if self._takes_two_passes:
            # The slopes need all outputs first. The second pass computes the
            # same outputs again, from the same seeds, and their gradients.
            outputs = self._all_outputs(features, seeds)
            slopes, batch_sums = self._slopes(labels, outputs, weights)
        take = (
            self._take_gradients if self._num_parts == 1 else self._accumulate
        )
        gradients, sums, seeds = take(data, totals, seeds, slopes)
        sums |= batch_sums
        for variable, seed in zip(self._seed_variables, seeds, strict=True):
            variable.assign(seed - [shift, 0])
        self.optimizer.apply(gradients, self.trainable_variables)
        work = self._count_work(features)
        self._work.assign_add([work[name] for name in WORK])
        return self._log(sums)

    def test_step(self, data):
        features, labels, weights = self._unpack(data)
        labels = self._all_labels(features, labels)
        outputs = self(features, training=False)
        sums = _sums(self._label_objectives, labels, outputs, weights)
        whole = self._whole_batch(labels, outputs, weights)
        return self._log(sums | _sums(self._batch_objectives, *whole))

    def _unpack(self, data):
        features, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if weights is None:
            weights = {name: tf.ones_like(y) for name, y in labels.items()}
        weights = {n: tf.cast(w, tf.float32) for n, w in weights.items()}
        if self._more_weights:
            weights |= self._more_weights(features, weights)
        return features, labels, weights

    def _all_labels(self, features, labels):
        if self._more_labels:
            labels = labels | self._more_labels(features)
        return labels

    @property
    def _takes_two_passes(self):
        """Whether the batch objectives need a first pass for their outputs."""
        is_split = self._num_parts > 1
        # XLA cannot gather the outputs in the middle of a pass.
        is_split |= self._is_compiled and _num_replicas() > 1
        return bool(self._batch_objectives) and is_split

    @property
    def _seed_variables(self):
        return [v for v in self.variables if v.name == "seed_generator_state"]

    def _forward(self, features, seeds):
        """Returns outputs, the seeds after them, and updates of variables."""
        variables = self._seed_variables
        with keras.StatelessScope(zip(variables, seeds, strict=True)) as scope:
            outputs = self(features, training=True)
        updates = [
            (variable, scope.get_current_value(variable))
            for variable in self.non_trainable_variables
            if scope.get_current_value(variable) is not None
            and not any(variable is seed for seed in variables)
        ]
        return outputs, [scope.get_current_value(v) for v in variables], updates

    def _gradients(self, data, totals, seeds, slopes):
        """Returns gradients and sums of a part of the batch, and new seeds.

        If `slopes` is None, the part must be the whole batch of this replica.
        """
        features, labels, weights = data
        labels = self._all_labels(features, labels)
        with tf.GradientTape() as tape:
            outputs, seeds, updates = self._forward(features, seeds)
            losses = [
                objective.weight
                * weighted_mean(
                    objective.loss(labels[name], outputs[name]),
                    weights[name],
                    totals[name],
                )
                for name, objective in self._label_objectives.items()
            ]
            loss = self.optimizer.scale_loss(sum(losses, tf.constant(0.0)))
        for variable, value in updates:  # such as the means of a batch norm
            variable.assign(value)
        sums = _sums(self._label_objectives, labels, outputs, weights)
        if slopes is None:
            slopes, batch_sums = self._slopes(labels, outputs, weights)
            sums |= batch_sums
        gradients = tape.gradient(
            [loss, *(outputs[name] for name in slopes)],
            self.trainable_variables,
            [tf.ones_like(loss), *slopes.values()],
        )
        return gradients, sums, seeds

    def _accumulate(self, data, totals, seeds, slopes):
        """As `_gradients` of the whole batch, one micro-batch at a time."""

        def add(i, seeds, gradients, sums):
            part, slopes_of_part = self._part((data, slopes or {}), i)
            more_gradients, more_sums, seeds = self._take_gradients(
                part, totals, seeds, slopes_of_part
            )
            return (
                i + 1,
                seeds,
                list(map(tf.add, gradients, more_gradients)),
                tf.nest.map_structure(tf.add, sums, more_sums),
            )

        no_gradients = [tf.zeros_like(v) for v in self.trainable_variables]
        no_sums = {
            key: (tf.constant(0.0),) * 2
            for key in self._means
            if key[0] in self._label_objectives
        }
        _, seeds, gradients, sums = tf.while_loop(
            lambda i, *_: i < self._num_parts,
            add,
            (tf.constant(0), seeds, no_gradients, no_sums),
        )
        return gradients, sums, seeds

    def _all_outputs(self, features, seeds):
        """The outputs of `_batch_objectives` for all rows of this replica."""

        def add(i, seeds, arrays):
            outputs, seeds = self._take_outputs(self._part(features, i), seeds)
            return (
                i + 1,
                seeds,
                {n: arrays[n].write(i, outputs[n]) for n in arrays},
            )

        arrays = {
            name: tf.TensorArray(
                self.output[name].dtype, self._num_parts, infer_shape=False
            )
            for name in self._batch_objectives
        }
        _, _, arrays = tf.while_loop(
            lambda i, *_: i < self._num_parts,
            add,
            (tf.constant(0), seeds, arrays),
        )
        return {
            name: tf.ensure_shape(array.concat(), self.output[name].shape)
            for name, array in arrays.items()
        }

    def _outputs_only(self, features, seeds):
        outputs, seeds, _ = self._forward(features, seeds)
        return {name: outputs[name] for name in self._batch_objectives}, seeds

    def _slopes(self, labels, outputs, weights):
        """Slopes of the batch losses at this replica's outputs; their sums."""
        whole = self._whole_batch(labels, outputs, weights)
        slopes = {}
        for name, objective in self._batch_objectives.items():
            y, x, w = (values[name] for values in whole)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = objective.weight * objective.loss(y, x, w)
                loss = self.optimizer.scale_loss(loss)
            slopes[name] = _rows_of_replica(
                tape.gradient(loss, x), tf.shape(outputs[name])[0]
            )
        return slopes, _sums(self._batch_objectives, *whole)

    def _whole_batch(self, *values):
        return _gather(
            [{n: v[n] for n in self._batch_objectives} for v in values]
        )

    def _part(self, values, i):
        """The i-th of the parts of each tensor; their sizes differ by 1."""

        def cut(x):
            num_rows = x.shape[0] or tf.shape(x)[0]
            begin = i * num_rows // self._num_parts
            if x.shape[0] and x.shape[0] % self._num_parts == 0:
                size = x.shape[0] // self._num_parts  # known, as XLA wants it
            else:
                size = (i + 1) * num_rows // self._num_parts - begin
            rest = len(x.shape) - 1
            return tf.slice(x, [begin] + [0] * rest, [size] + [-1] * rest)

        return tf.nest.map_structure(cut, values)

    def _log(self, sums):
        logs = {}
        for key, (weighted, total) in _sum_over_replicas(sums).items():
            mean = self._means[key]
            mean.update_state(tf.math.divide_no_nan(weighted, total), total)
            logs[mean.name] = mean.result()
        for output, objective in self._objectives.items():
            loss = logs[_log_name(output, "loss")]
            for figure, function in objective.of_mean_loss.items():
                logs[_log_name(output, figure)] = function(loss)
        logs["loss"] = sum(
            objective.weight * logs[_log_name(name, "loss")]
            for name, objective in self._objectives.items()
        )
        return logs

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds the optimizer; a functional model itself is built already.

        Keras would take one replica's part of the first batch for this, which
        fails for several workers too.
        """
        with self.distribute_strategy.scope():
            self.optimizer.build(self.trainable_variables)


def _log_name(output, figure):
    return figure if output == "logits" else f"{output}_{figure}"


def _sums(objectives, labels, outputs, weights):
    return {
        (name, figure): sums
        for name, objective in objectives.items()
        for figure, sums in objective.sums(
            labels[name], outputs[name], weights[name]
        ).items()
    }


def _replica_id():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def _num_replicas():
    return tf.distribute.get_replica_context().num_replicas_in_sync


def _sum_over_replicas(values):
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)


def _gather(values):
    """Joins the rows of all replicas, in the order of the global batch.

    Each replica pads its rows with zeros, and these are summed: all_gather
    fails where several workers have one device each (TensorFlow 2.21).
    """
    if _num_replicas() == 1 or not tf.nest.flatten(values):
        return values

    def gather(x):  # one by one: a call takes tensors of one dtype
        before, after = _num_other_rows(tf.shape(x)[0])
        rest = [[0, 0]] * (len(x.shape) - 1)
        padded = tf.pad(x, [[before, after], *rest])
        padded = tf.ensure_shape(padded, [None, *x.shape[1:]])
        return _sum_over_replicas(padded)

    return tf.nest.map_structure(gather, values)


def _rows_of_replica(x, num_rows):
    """The rows that this replica gave to `_gather`."""
    if _num_replicas() == 1:
        return x
    before, _ = _num_other_rows(num_rows)
    return x[before : before + num_rows]


def _num_other_rows(num_rows):
    """The rows of the replicas before this one, and of those after it."""
    replica = _replica_id()
    own = tf.one_hot(replica, _num_replicas(), dtype=tf.float32)
    counts = tf.cast(
        _sum_over_replicas(own * tf.cast(num_rows, tf.float32)), tf.int32
    )
    return tf.reduce_sum(counts[:replica]), tf.reduce_sum(counts[replica + 1 :])
