"""The counters that Prometheus reads."""

import functools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import prometheus_client
from prometheus_client import Counter, Gauge, Histogram

from keras_bert.server.limits import Limits
from keras_bert.server.rows import Answered
from keras_bert.server.versions import ModelVersions

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
_SECONDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    *(0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)
_POWERS_OF_TWO = tuple(2**i for i in range(13))
_GAUGES = {
    "waiting_texts": "Texts that wait or are being answered.",
    "waiting_bytes": "Bytes of all request bodies in the server.",
}
_HISTOGRAMS = {
    "request_seconds": "From the head of a request to its answer.",
    "queue_seconds": "How long a text waited for the model.",
    "compute_seconds": "How long the model took for a batch.",
    "batch_texts": "Texts answered together.",
    "text_tokens": "Tokens of a text, from the output num_tokens.",
}


class Metrics:
    """The counters of one server."""

    def __init__(self, limits: Limits, models: Collection[ModelVersions]):
        self._registry = prometheus_client.CollectorRegistry()
        # Otherwise, each counter gets a second metric with its start time.
        prometheus_client.disable_created_metrics()
        prometheus_client.ProcessCollector(registry=self._registry)
        of_us: Any = {"namespace": "keras_bert", "registry": self._registry}
        by = ("model", "route", "status")
        self._requests = Counter("requests", "Requests answered.", by, **of_us)
        self._histograms = {}
        for name, text in _HISTOGRAMS.items():
            labels = ("model", "route" if "request" in name else "signature")
            buckets = _SECONDS if "seconds" in name else _POWERS_OF_TWO
            self._histograms[name] = Histogram(
                name, text, labels, buckets=buckets, **of_us
            )
        for name, text in _GAUGES.items():
            read = functools.partial(getattr, limits, name)
            Gauge(name, text, **of_us).set_function(read)
        failed = Gauge(
            "failed_polls",
            "Consecutive failures to look for new versions of a model.",
            ("model",),
            **of_us,
        )
        for model in models:
            read = functools.partial(getattr, model, "failed_polls")
            failed.labels(model.name).set_function(read)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' own format."""
        return prometheus_client.generate_latest(self._registry)

    def count_request(self, record: Mapping[str, Any]) -> None:
        """Counts a request; `record` is its line in the log."""
        model, route = record["model"], record["route"]
        self._requests.labels(model, route, record["status"]).inc()
        self._observe("request_seconds", model, route, [record["seconds"]])

    def count_answer(
        self, model: str, signature: str, submitted: float, part: Answered
    ) -> None:
        """Records an answered part: its waiting time, batch and tokens.

        `submitted` is the time at which the rows of the request were submitted.
        """
        observe = functools.partial(self._observe, model=model, of=signature)
        waited = part.begin - submitted
        observe("queue_seconds", values=[waited] * len(part.places))
        if part.batch:
            seconds, num_rows = part.batch
            observe("compute_seconds", values=[seconds])
            observe("batch_texts", values=[num_rows])
        tokens = part.outputs.get("num_tokens")
        if tokens is not None and np.issubdtype(tokens.dtype, np.integer):
            observe("text_tokens", values=tokens.ravel().tolist())

    def _observe(self, name: str, model: str, of: str, values: list) -> None:
        histogram = self._histograms[name].labels(model, of)
        for value in values:
            histogram.observe(value)
