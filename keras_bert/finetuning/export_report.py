"""What an exported network gains and loses: size, speed, score."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.signatures import one_graph

_LENGTHS = (32, 128)
_BATCH_SIZE = 32
_ROUNDS = 5
# Which ids a sequence has makes no difference; every vocabulary has these.
_NUM_IDS = 5


def export_report(
    model: Any,
    exported: Any,
    kind: Kind,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    """Compares an exported network with the model that it was made of.

    Both are called like a `keras.Model` and take turns. All figures are pairs
    `[model, exported]`:

        latency_ms: The median time of a call on one sequence, by its number of
            tokens.
        sequences_per_second: In batches of 32 sequences of 128 tokens.
        metrics: The metrics of the task by name, if there is an evaluation.

    Sequences are cut to what the task reads at most.
    """
    networks = (model, exported)
    signatures = [kind.id_signature(network) for network in networks]
    calls = [one_graph(x.function, x.inputs) for x in signatures]
    # Texts in windows and choices have one more axis.
    rank = signatures[0].inputs[0].shape.rank
    longest = kind.spec.settings.max_seq_length

    def seconds(batch_size, length):
        length = min(length, longest)
        return _time(calls, [batch_size, *[1] * (rank - 2), length])

    report: dict[str, Any] = {
        "latency_ms": {
            str(min(length, longest)): [
                round(1000 * x, 2) for x in seconds(1, length)
            ]
            for length in _LENGTHS
        },
        "sequences_per_second": [
            round(_BATCH_SIZE / x, 2)
            for x in seconds(_BATCH_SIZE, _LENGTHS[-1])
        ],
    }
    if evaluation:
        before, after = (evaluation(network)[1] for network in networks)
        report["metrics"] = {
            name: [before[name], after[name]] for name in before
        }
    return report


def _time(calls, shape):
    """Returns the median seconds of each function, without the first round."""
    ids = np.random.default_rng(0).integers(0, _NUM_IDS, shape)
    tensors = [tf.constant(x, tf.int32) for x in (ids, ids * 0 + 1, ids * 0)]
    seconds = np.zeros([1 + _ROUNDS, len(calls)])
    for times in seconds:
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            tf.nest.map_structure(np.asarray, call(*tensors))
            times[i] = time.perf_counter() - begin
    return np.median(seconds[1:], axis=0).tolist()
