r"""Runs an exported model on raw strings; writes one JSON object per line.

    python run_scripts/predict.py --model_dir=served 'a lovely film'
    python run_scripts/predict.py --model_dir=served \
        --input_file='texts/*.tsv.gz' --output_file=answers.jsonl

Reads standard input if neither texts nor files are given. A line is a JSON
object with the fields of the task, or the fields separated by tabs, or simply
the text if the model takes one text. A list, such as the endings of multiple
choice, takes all fields after the first. A file may begin with a header: a line
of columns with the names of all fields. Other columns are left out.

If a line cannot be read, its answer is an "error", and the script exits with
status 1. The output file appears when it is whole. After a kill, the same
command continues. --runner=DirectRunner, for example, runs the work on Apache
Beam, which writes several files, in any order.
"""

import shlex
import sys

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_string("model_dir", None, "The exported model.")
SIGNATURE = flags.DEFINE_string(
    "signature", "serving_default", "The signature to call."
)
INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Files or globs, separated by commas; may be .gz."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "By default standard output; may be .gz."
)
RUNNER = flags.DEFINE_string("runner", None, "An Apache Beam runner.")
BEAM_OPTIONS = flags.DEFINE_string("beam_options", "", "Options of Beam.")


def main(*texts):
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    num_errors = _predict(texts)
    if num_errors:
        lines = "1 line" if num_errors == 1 else f"{num_errors} lines"
        sys.exit(f"Error: {lines} could not be read.")


def _predict(texts):
    if texts and INPUT_FILE.value:
        raise keras_bert.InputError("Give either texts or an --input_file.")
    if RUNNER.value:
        if not (INPUT_FILE.value and OUTPUT_FILE.value):
            raise keras_bert.InputError(
                "With --runner, give an --input_file and an --output_file."
            )
        return keras_bert.predict.predict_files_with_beam(
            MODEL_DIR.value,
            INPUT_FILE.value,
            OUTPUT_FILE.value,
            signature=SIGNATURE.value,
            pipeline_options=[f"--runner={RUNNER.value}"]
            + shlex.split(BEAM_OPTIONS.value),
        )
    predict = keras_bert.predict_lines if texts else keras_bert.predict_files
    return predict(
        MODEL_DIR.value,
        texts or INPUT_FILE.value,
        OUTPUT_FILE.value,
        signature=SIGNATURE.value,
    )


if __name__ == "__main__":
    config_flags.run(main, takes_arguments=True, required=[MODEL_DIR])
