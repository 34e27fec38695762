"""Predictions through Apache Beam, for text too large for one machine."""

import functools
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.errors import import_extra
from keras_bert.io.input_files import expand_globs
from keras_bert.predict import request_lines
from keras_bert.predict.predict_files import LINES_PER_CHUNK, check_is_no_csv
from keras_bert.predict.served_model import ServedModel, find_model

_LOADING = threading.Lock()


def predict_files_with_beam(
    model_dir: str | Path,
    input_file: str,
    output_file: str | Path,
    *,
    signature: str = "serving_default",
    num_shards: int = 0,
    pipeline_options: list[str] | None = None,
) -> int:
    """Writes a model's answers to the lines of files, using Apache Beam.

    The answers are the same as from `predict_files`, but in any order. Each
    file is read by one worker, and its lines are answered by all workers. First
    install the extra `beam`: run pip install 'keras-bert-tf[beam]'.

    Example:
        >>> folder = keras_bert.load_finetuned("finetuned").export("served")
        >>> keras_bert.predict.predict_files_with_beam(
        ...     "served",
        ...     "sst2/*.tsv",
        ...     "answers.jsonl",
        ...     num_shards=2,
        ...     pipeline_options=["--runner=DirectRunner"],
        ... )
        0
        >>> len(tf.io.gfile.glob("answers-0000?-of-00002.jsonl"))
        2

    Args:
        model_dir: The folder that `FinetunedModel.export` wrote. All workers
            must be able to read this folder and the input files under the same
            names.
        input_file: The text or CSV files, as in `predict_files`.
        output_file: The name of the output files, to which Beam adds numbers:
            "out/a.jsonl" becomes "out/a-00000-of-00005.jsonl". The files are
            compressed if the name ends with .gz.
        signature: The name of the model's signature to call.
        num_shards: The number of output files; 0 lets the runner choose.
        pipeline_options: The options for Beam, such as
            ["--runner=FlinkRunner"].

    Returns:
        The number of lines that could not be read; 0, with a warning, if the
        runner does not report the number.

    Raises:
        InputError: If there is no such model or signature, or if Apache Beam is
            not installed.
    """
    beam = import_extra("apache_beam", "beam")
    check_is_no_csv(output_file)
    files = expand_globs(input_file)
    # All workers load this version, even if a newer version appears.
    folder, description = find_model(model_dir, signature)
    inputs = tuple(description["signatures"][signature]["inputs"])
    # "out/a.jsonl.gz" is split into "out/a" and ".jsonl.gz".
    prefix, _ = os.path.splitext(str(output_file).removesuffix(".gz"))
    suffix = str(output_file).removeprefix(prefix)
    pipeline = beam.Pipeline(argv=pipeline_options or [])
    _ = (
        pipeline
        | "Files" >> beam.Create(files)
        | "SpreadFiles" >> beam.Reshuffle()
        | "Read"
        >> beam.FlatMap(lambda x: request_lines.read_request_files([x], inputs))
        | "SpreadLines" >> beam.Reshuffle()
        # The lines of a batch are sorted by length.
        | "Batch" >> beam.BatchElements(LINES_PER_CHUNK, LINES_PER_CHUNK)
        | "Answer" >> beam.FlatMap(_answer, str(folder), signature)
        | "Write"
        >> beam.io.WriteToText(
            prefix,
            file_name_suffix=suffix,
            num_shards=num_shards,
            append_trailing_newlines=False,
        )
    )
    result = pipeline.run()
    result.wait_until_finish()
    _load.cache_clear()  # drops the model of a runner in this process
    errors = beam.metrics.MetricsFilter().with_name("errors")
    return _sum(result.metrics().query(errors)["counters"])


def _sum(counters: Iterable[Any]) -> int:
    """Returns the sum of counters.

    Some runners count only attempts, so a line that is read again after a
    failure counts again.
    """
    counts = [
        counter.attempted if counter.committed is None else counter.committed
        for counter in counters
    ]
    if not counts or None in counts:
        logging.warning(
            "The runner does not report how many lines are invalid; the answer "
            "to an invalid line is an error message."
        )
    return sum(count or 0 for count in counts)


def _answer(
    lines: Sequence[request_lines.RequestLine], folder: str, signature: str
) -> list[str]:
    """Returns the answers to lines, as JSON lines; the workers call this."""
    from apache_beam.metrics import Metrics

    with _LOADING:
        model = _load(folder, signature)
    answers, num_errors = request_lines.answer_lines(model, lines)
    Metrics.counter("answers", "errors").inc(num_errors)
    return [request_lines.to_json_line(answer) for answer in answers]


@functools.lru_cache(1)
def _load(folder: str, signature: str) -> ServedModel:
    """Returns a model, which is loaded once per process."""
    return ServedModel(folder, signature)
