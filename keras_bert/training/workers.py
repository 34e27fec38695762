"""What several workers must agree on, and what happens if one is lost."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import tensorflow as tf
from absl import logging


def value_of_chief(strategy: tf.distribute.Strategy, value: int) -> int:
    """Gives every worker the chief's value; all workers must call this.

    Workers may see different files, or decide differently by a rounding
    error. They then wait for each other for ever.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return value

    def of_first_replica():
        context = tf.distribute.get_replica_context()
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        number = tf.where(is_first, tf.constant(value, tf.int64), 0)
        return context.all_reduce(tf.distribute.ReduceOp.SUM, number)

    results = tf.function(lambda: strategy.run(of_first_replica))()
    return int(strategy.experimental_local_results(results)[0])


@contextlib.contextmanager
def ends_without_workers(seconds: int) -> Iterator[None]:
    """Ends the process if the block waits longer for the other workers.

    Ends it by a signal, SIGALRM: TensorFlow waits without letting Python run,
    and it ignores SIGTERM.
    """
    logging.info("Waiting at most %d seconds for the other workers", seconds)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def lost_worker_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Raises ConnectionError with one sentence if another worker is lost.

    TensorFlow notices within seconds, also if the worker merely hangs.
    """
    try:
        yield
    except (
        tf.errors.AbortedError,
        tf.errors.DeadlineExceededError,
        tf.errors.UnavailableError,
    ) as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise
        raise ConnectionError(
            "Another worker has ended or cannot be reached; start all workers "
            "with the same commands again, and they resume from the last "
            f"checkpoint. TensorFlow says: {error.message.splitlines()[0]}"
        ) from error
