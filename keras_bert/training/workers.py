"""What several workers have to agree on, and what one says of another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf


def step_of_chief(strategy: tf.distribute.Strategy, step: int) -> int:
    """Gives every worker the step of the chief, who writes the checkpoints.

    A worker that is started while another one still ends may see an older
    checkpoint, or, on a disk of its own, none.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return step

    def of_first_replica():
        context = tf.distribute.get_replica_context()
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        number = tf.where(is_first, tf.constant(step, tf.int64), 0)
        return context.all_reduce(tf.distribute.ReduceOp.SUM, number)

    results = tf.function(lambda: strategy.run(of_first_replica))()
    return int(strategy.experimental_local_results(results)[0])


@contextlib.contextmanager
def lost_worker_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Says in a sentence that another worker is gone.

    TensorFlow finds that out in seconds, also of one that merely hangs.
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
            "with the same commands again, and they go on from the last "
            f"checkpoint. TensorFlow says: {error.message.splitlines()[0]}"
        ) from error
