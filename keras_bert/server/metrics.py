"""What Prometheus reads."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import prometheus_client
from prometheus_client import Counter, Gauge, Histogram

from keras_bert.server.batching import Answered
from keras_bert.server.versions import ModelVersions

_SECONDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    *(0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)
_POWERS_OF_TWO = tuple(2**i for i in range(13))


class Metrics:
    """The counters of one server."""

    def __init__(self):
        self.registry = prometheus_client.CollectorRegistry()
        # Otherwise each counter has a second one, with the time of its start.
        prometheus_client.disable_created_metrics()
        prometheus_client.ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "keras_bert_requests",
            "Requests answered.",
            ("model", "route", "status"),
            registry=self.registry,
        )
        self._seconds = self._histogram(
            "request_seconds", "From the head of a request to its answer."
        )
        self._queue = self._histogram(
            "queue_seconds", "How long a text waited for the model."
        )
        self._compute = self._histogram(
            "compute_seconds", "How long the model took for a batch."
        )
        self._batch = self._histogram(
            "batch_texts", "Texts answered together.", _POWERS_OF_TWO
        )
        self._tokens = self._histogram(
            "text_tokens",
            "Tokens of a text, from the output num_tokens.",
            _POWERS_OF_TWO,
        )

    def show(self, name: str, help_text: str, read) -> None:
        """Adds a gauge whose value `read` returns."""
        gauge = Gauge(f"keras_bert_{name}", help_text, registry=self.registry)
        gauge.set_function(read)

    def show_failed_polls(self, models: Iterable[ModelVersions]) -> None:
        """Adds a gauge for each model."""
        gauge = Gauge(
            "keras_bert_failed_polls",
            "Failures in a row to look for new versions of a model.",
            ("model",),
            registry=self.registry,
        )
        for model in models:
            gauge.labels(model.name).set_function(
                functools.partial(getattr, model, "failed_polls")
            )

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' own format."""
        return prometheus_client.generate_latest(self.registry)

    def count_request(
        self, model: str, route: str, status: int, seconds: float
    ) -> None:
        """Counts a request; model and route are "" if unknown."""
        self._requests.labels(model, route, status).inc()
        self._seconds.labels(model, route).observe(seconds)

    def count_answer(
        self, model: str, signature: str, submitted: float, answered: Answered
    ) -> None:
        """Counts a part of a request that waited since `submitted`."""
        queue = self._queue.labels(model, signature)
        for start, end, position, size in answered.times.tolist():
            queue.observe(max(0.0, start - submitted))
            if position == 0:  # so that a batch counts once
                self._compute.labels(model, signature).observe(end - start)
                self._batch.labels(model, signature).observe(size)
        tokens = answered.outputs.get("num_tokens")
        if tokens is not None and np.issubdtype(tokens.dtype, np.integer):
            for count in tokens.reshape(-1).tolist():
                self._tokens.labels(model, signature).observe(count)

    def _histogram(self, name, help_text, buckets=_SECONDS):
        return Histogram(
            f"keras_bert_{name}",
            help_text,
            ("model", "route" if name == "request_seconds" else "signature"),
            buckets=buckets,
            registry=self.registry,
        )
