"""What Prometheus reads."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import numpy as np
import prometheus_client
from prometheus_client import Counter, Gauge, Histogram

from keras_bert.server.limits import Limits
from keras_bert.server.signature import Answered
from keras_bert.server.versions import ModelVersions

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
_SECONDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    *(0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)
_POWERS_OF_TWO = tuple(2**i for i in range(13))
# What is observed of each request, and of each call of a signature.
_OF_REQUESTS = {"request_seconds": "From the head of a request to its answer."}
_OF_CALLS = {
    "queue_seconds": "How long a text waited for the model.",
    "compute_seconds": "How long the model took for a batch.",
    "batch_texts": "Texts answered together.",
    "text_tokens": "Tokens of a text, from the output num_tokens.",
}


class Metrics:
    """The counters of one server."""

    def __init__(self, limits: Limits, models: Collection[ModelVersions]):
        self._registry = prometheus_client.CollectorRegistry()
        # Otherwise each counter has a second one, with the time of its start.
        prometheus_client.disable_created_metrics()
        prometheus_client.ProcessCollector(registry=self._registry)
        options: dict[str, Any] = {
            "namespace": "keras_bert",
            "registry": self._registry,
        }
        labels = ("model", "route", "status")
        self._requests = Counter(
            "requests", "Requests answered.", labels, **options
        )
        self._histograms = {
            name: Histogram(
                name,
                help_text,
                ("model", "route" if name in _OF_REQUESTS else "signature"),
                buckets=_SECONDS if "seconds" in name else _POWERS_OF_TWO,
                **options,
            )
            for name, help_text in {**_OF_REQUESTS, **_OF_CALLS}.items()
        }
        for name, help_text in (
            ("waiting_texts", "Texts that wait or are being answered."),
            ("waiting_bytes", "Bytes of all bodies in the server."),
        ):
            gauge = Gauge(name, help_text, **options)
            gauge.set_function(functools.partial(getattr, limits, name))
        failed = Gauge(
            "failed_polls",
            "Failures in a row to look for new versions of a model.",
            ("model",),
            **options,
        )
        for model in models:
            read = functools.partial(getattr, model, "failed_polls")
            failed.labels(model.name).set_function(read)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' own format."""
        return prometheus_client.generate_latest(self._registry)

    def count_request(
        self, model: str, route: str, status: int, seconds: float
    ) -> None:
        """Counts a request; model and route are "" if unknown."""
        self._requests.labels(model, route, status).inc()
        histogram = self._histograms["request_seconds"]
        histogram.labels(model, route).observe(seconds)

    def count_answer(
        self, model: str, signature: str, submitted: float, answered: Answered
    ) -> None:
        """Counts a part of a request that waited since `submitted`."""
        queue, compute, batch, text_tokens = (
            self._histograms[name].labels(model, signature)
            for name in _OF_CALLS
        )
        for start, end, position, size in answered.times.tolist():
            queue.observe(max(0.0, start - submitted))
            if position == 0:  # so that a batch counts once
                compute.observe(end - start)
                batch.observe(size)
        tokens = answered.outputs.get("num_tokens")
        if tokens is not None and np.issubdtype(tokens.dtype, np.integer):
            for count in tokens.ravel().tolist():
                text_tokens.observe(count)
