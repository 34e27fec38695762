r"""Runs an exported model on raw strings; writes one JSON object per line.

    keras-bert predict --model_dir=served 'a lovely film'
    keras-bert predict --model_dir=served \
        --input_file='texts/*.tsv.gz' --output_file=answers.jsonl

The command reads standard input if neither texts nor files are given. A line is
a JSON object with the fields of the task, or the fields separated by tabs, or
simply the text if the model takes one text. A field with a list, such as the
endings of multiple choice, takes the remaining columns of the line. A file may
begin with a header: a line of column names that includes every field. Columns
whose names are not fields are ignored. A .csv file must have a header, and may
have quotes.

If a line cannot be read, its JSON object has an "error" instead of an answer,
and the command exits with status 1. The output file appears when it is
complete. If the command is killed, run it again: it continues. With --runner,
such as --runner=DirectRunner, Apache Beam computes the answers, and writes them
to several files in any order.

Args:
    model_dir: The exported model.
    input_file: The text or CSV files, or globs, separated by commas; they may
        be .gz.
    output_file: The new file, which may be .gz; by default, standard output.
    signature: The name of the model's signature to call.
    runner: The Apache Beam runner, such as DirectRunner; by default, the
        command runs without Beam.
    beam_options: More options for Beam, in one string.
"""

import shlex
import sys
from typing import Any

import keras_bert

NEEDS = {"beam_options": "runner"}


def run(
    *texts: str,
    model_dir: str,
    input_file: str | None = None,
    output_file: str | None = None,
    signature: str = "serving_default",
    runner: str = "",
    beam_options: str = "",
) -> None:
    out: Any = sys.stdout
    out.reconfigure(encoding="utf-8", errors="backslashreplace")
    if texts and input_file:
        raise keras_bert.InputError(
            "Both texts and an --input_file were given; give only one of them."
        )
    if runner:
        if not (input_file and output_file):
            raise keras_bert.InputError(
                "With --runner, give an --input_file and an --output_file."
            )
        num_errors = keras_bert.predict.predict_files_with_beam(
            model_dir,
            input_file,
            output_file,
            signature=signature,
            pipeline_options=[f"--runner={runner}", *shlex.split(beam_options)],
        )
    else:
        predict: Any = keras_bert.predict_files
        if texts:
            predict = keras_bert.predict.predict_lines
        num_errors = predict(
            model_dir, texts or input_file, output_file, signature=signature
        )
    if num_errors:
        lines = "1 line" if num_errors == 1 else f"{num_errors} lines"
        sys.exit(f"Error: {lines} could not be read.")
