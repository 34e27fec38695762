"""A ServedModel as Apache Beam's RunInference takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import ModelHandler

from keras_bert.predict.predict_files import LINES_PER_CHUNK
from keras_bert.predict.request_lines import RequestLine, answer_lines
from keras_bert.predict.served_model import ServedModel


class ServedModelHandler(ModelHandler):
    """Answers lines. Beam loads the model once for each worker process."""

    def __init__(self, model_dir: str, signature: str):
        # The lines of a batch are sorted by length.
        super().__init__(
            min_batch_size=LINES_PER_CHUNK, max_batch_size=LINES_PER_CHUNK
        )
        self._model_dir = model_dir
        self._signature = signature

    def load_model(self) -> ServedModel:
        return ServedModel(self._model_dir, self._signature)

    def run_inference(
        self,
        batch: Sequence[RequestLine],
        model: ServedModel,
        inference_args: dict[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        answers, num_errors = answer_lines(model, batch)
        Metrics.counter("answers", "errors").inc(num_errors)
        return answers
