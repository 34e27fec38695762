"""The devices, replicas and workers of a run, and their shares of its data."""

import contextlib
import functools
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError, first_line
from keras_bert.training.config import TrainConfig


def require_tensorflow() -> None:
    """Raises InputError if Keras computes with JAX or torch."""
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise InputError(
            f"Keras computes with {backend}, which can only run the network; "
            "set KERAS_BACKEND=tensorflow to train, to answer or to export."
        )


def get_strategy(config: TrainConfig) -> tf.distribute.Strategy:
    """Returns the strategy of a run.

    `mirrored` uses all GPUs, or all (logical) CPUs if there is no GPU. For
    `multi_worker_mirrored`, TensorFlow reads TF_CONFIG from the environment
    and waits for the other workers.

    Raises InputError if TF_CONFIG is wrong, the TPU is not found, or Keras does
    not compute with TensorFlow.
    """
    require_tensorflow()
    name, tpu = config.distribution_strategy, config.tpu
    if name == "one_device":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return _mirrored()
    if name == "multi_worker_mirrored":
        seconds = config.worker_timeout_seconds
        logging.info(f"Waiting at most {seconds} seconds for other workers")
        # While TensorFlow waits, no Python code runs, and SIGTERM is ignored.
        signal.alarm(seconds)
        try:
            return tf.distribute.MultiWorkerMirroredStrategy()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                "TF_CONFIG does not describe a cluster; set it as "
                "https://www.tensorflow.org/guide/distributed_training says. "
                f"TensorFlow says: {first_line(error)}"
            ) from error
        finally:
            signal.alarm(0)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (OSError, tf.errors.OpError) as error:  # OSError: a wrong name
        raise InputError(
            f"There is no TPU at {tpu!r}; give the name or address of a TPU, "
            "or another distribution_strategy. TensorFlow says: "
            f"{first_line(error)}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


@functools.cache
def _mirrored() -> tf.distribute.MirroredStrategy:
    """Returns the one mirrored strategy of the process.

    With a second strategy, sums over replicas could fail: each strategy numbers
    its sums from the same start, and TensorFlow 2.21 treats two sums with the
    same number as one sum, and raises an error if their shapes differ.
    """
    list_devices = tf.config.list_logical_devices
    devices = list_devices("GPU") or list_devices("CPU")
    return tf.distribute.MirroredStrategy([d.name for d in devices])


@contextlib.contextmanager
def precision(name: str, *, is_mixed: bool = True) -> Iterator[None]:
    """Sets the dtype in which models built in the `with` block compute.

    Their weights stay float32, unless `is_mixed` is False.
    """
    before = keras.config.dtype_policy()
    policy = f"mixed_{name}" if is_mixed and name != "float32" else name
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether this process is the one worker that writes the files."""
    return strategy.extended.should_checkpoint


def has_workers(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether other processes take part in the run."""
    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def value_of_chief(strategy: tf.distribute.Strategy, value: int) -> int:
    """Returns the chief's value on every worker; all workers must call this.

    Workers may see different files, or decide differently because of a
    rounding error. Without a common value, they would wait for each other
    forever.
    """
    if not has_workers(strategy):
        return value
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(
            0 if context.replica_id_in_sync_group else value, tf.int64
        )
    )
    return int(strategy.reduce("SUM", values, axis=None))


def uses_xla(
    config: TrainConfig, make_batches: Callable[[], tf.data.Dataset]
) -> bool:
    """Returns whether the steps on these batches are compiled with XLA."""
    if config.jit_compile != "auto":
        return config.jit_compile == "on"
    # XLA is slower on a CPU, and it compiles anew for each shape.
    if not any(map(tf.config.list_logical_devices, ("GPU", "TPU"))):
        return False
    specs = tf.nest.flatten(make_batches().element_spec)
    return all(spec.shape.is_fully_defined() for spec in specs)


@contextlib.contextmanager
def lost_worker_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Raises a short ConnectionError if another worker is lost in the block.

    TensorFlow notices within seconds, even if the worker merely hangs.
    """
    try:
        yield
    except (
        tf.errors.AbortedError,
        tf.errors.DeadlineExceededError,
        tf.errors.UnavailableError,
    ) as error:
        if not has_workers(strategy):
            raise
        raise ConnectionError(
            "Another worker has ended or cannot be reached; start all "
            "workers again with the same commands, and they resume from the "
            "last checkpoint. TensorFlow says: "
            f"{first_line(error)}"
        ) from error


class BatchShard(NamedTuple):
    """One of several nearly equal parts of every batch, in order.

    Attributes:
        number: The index of the part, from 0.
        num_shares: The number of parts.
    """

    number: int
    num_shares: int

    def rows(self, batch_size: int) -> range:
        """Returns the rows of a batch that belong to the part."""
        return range(*self._ends(batch_size))

    def cut(self, batch: Any) -> Any:
        """Returns this part's rows of all tensors in a batch.

        The index of the part may be a tensor.
        """

        def cut(x: tf.Tensor) -> tf.Tensor:
            begin, end = self._ends(x.shape[0] or tf.shape(x, tf.int64)[0])
            size = end - begin
            if x.shape[0] and x.shape[0] % self.num_shares == 0:
                size = x.shape[0] // self.num_shares  # static, as XLA needs it
            # -1 means a whole axis; XLA needs the length, where it is known.
            others = [-1 if n is None else n for n in x.shape[1:]]
            return tf.slice(x, [begin] + [0] * len(others), [size, *others])

        return tf.nest.map_structure(cut, batch)

    def _ends(self, num_rows: int) -> tuple[int, int]:
        begin = num_rows * self.number // self.num_shares
        return begin, num_rows * (self.number + 1) // self.num_shares


WHOLE = BatchShard(0, 1)


def distribute(
    strategy: tf.distribute.Strategy,
    batches: Callable[[BatchShard], tf.data.Dataset],
) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    """Returns batches of which each worker reads its share of the rows.

    `batches` is a function that returns the rows of each batch that belong to a
    share. The rows of a worker are divided among its devices.
    """

    def of_worker(context: tf.distribute.InputContext) -> tf.data.Dataset:
        share = BatchShard(
            context.input_pipeline_id, context.num_input_pipelines
        )
        num_devices = strategy.num_replicas_in_sync // share.num_shares
        return without_tuning(_divided(batches(share), num_devices))

    return strategy.distribute_datasets_from_function(of_worker)


def _divided(dataset: tf.data.Dataset, num_parts: int) -> tf.data.Dataset:
    """Returns a dataset in which each batch is divided into parts."""
    if num_parts == 1:
        return dataset
    return dataset.flat_map(
        lambda *batch: tf.data.Dataset.range(num_parts).map(
            lambda i: BatchShard(i, num_parts).cut(batch)
        )
    )


def without_tuning(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the dataset without tuning at run time.

    For a map with `AUTOTUNE`, tuning finds nothing faster than using all cores.
    Deleting a tuned iterator sometimes hangs for up to a minute (TensorFlow
    2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


# Call the functions below in the context of a replica, in `strategy.run`.


def replica_id() -> tf.Tensor:
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def num_replicas() -> int:
    return tf.distribute.get_replica_context().num_replicas_in_sync


def sum_over_replicas(values: Any) -> Any:
    """Returns nested tensors, each summed over all replicas."""
    if num_replicas() == 1:
        # all_reduce registers a gradient, which keeps the graph of the step,
        # and so the weights of the network, in memory until the process ends.
        return values
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)


def gather_rows(values: Any) -> Any:
    """Returns the rows of all replicas, in the order of the global batch.

    Each replica pads its rows with zeros to the size of the global batch, and
    the padded batches are summed, because all_gather fails if several workers
    have one device each (TensorFlow 2.21).
    """
    if num_replicas() == 1 or not tf.nest.flatten(values):
        return values

    def gather(x: tf.Tensor) -> tf.Tensor:
        before, after = _num_other_rows(tf.shape(x)[0])
        rest = [[0, 0]] * (len(x.shape) - 1)
        padded = tf.pad(x, [[before, after], *rest])
        padded = tf.ensure_shape(padded, [None, *x.shape[1:]])
        return sum_over_replicas(padded)

    # One by one: a call takes tensors of one dtype.
    return tf.nest.map_structure(gather, values)


def rows_of_replica(x: tf.Tensor, num_rows: tf.Tensor) -> tf.Tensor:
    """Returns the rows of `x` that this replica gave to `gather_rows`."""
    if num_replicas() == 1:
        return x
    before, _ = _num_other_rows(num_rows)
    return x[before : before + num_rows]


def _num_other_rows(num_rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns how many rows the replicas before and after this one have."""
    replica = replica_id()
    own = tf.one_hot(replica, num_replicas(), dtype=tf.float32)
    own *= tf.cast(num_rows, tf.float32)
    counts = tf.cast(sum_over_replicas(own), tf.int32)
    return tf.reduce_sum(counts[:replica]), tf.reduce_sum(counts[replica + 1 :])
