"""Runs an exported model on raw strings; prints one JSON object per line.

    python run_scripts/predict.py --model_dir=served 'a lovely film'
    python run_scripts/predict.py --model_dir=served --input_file=texts.txt

Reads standard input if neither texts nor a file is given. A line is a JSON
object with the fields of the task, or the fields separated by tabs, or simply
the text if the model takes one text. A list, such as the endings of multiple
choice, takes all fields after the first. If a line cannot be read, its answer
is an "error", and the script exits with status 1.
"""

import argparse
import contextlib
import json
import sys

import quiet_tensorflow  # noqa: F401  (must come first)

import keras_bert


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model_dir", required=True, help="the exported model")
    parser.add_argument(
        "--signature", default="serving_default", help="the signature to call"
    )
    parser.add_argument("--input_file", help="one request per line")
    parser.add_argument("texts", nargs="*", help="requests")
    args = parser.parse_args()
    num_errors = 0
    try:
        model = keras_bert.ServedModel(args.model_dir, args.signature)
        with contextlib.ExitStack() as stack:
            lines = args.texts or sys.stdin
            if args.input_file and not args.texts:
                lines = stack.enter_context(
                    open(args.input_file, encoding="utf-8")
                )
            for answer in model.answer_lines(lines):
                num_errors += "error" in answer
                print(json.dumps(answer, ensure_ascii=False))
    except (OSError, keras_bert.InputError) as error:
        sys.exit(f"Error: {error}")
    if num_errors:
        sys.exit(f"Error: {num_errors} lines could not be read.")


if __name__ == "__main__":
    main()
