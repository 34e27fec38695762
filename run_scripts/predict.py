"""Answers raw strings with an exported model; prints a JSON object a line.

    python run_scripts/predict.py --model_dir=served 'a lovely film'
    python run_scripts/predict.py --model_dir=served --input_file=texts.txt

Without texts and file, reads standard input: a text a line; the two texts of
a pair are separated by a tab. Needs only tensorflow and tensorflow_text.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
import tensorflow_text  # noqa: E402, F401  (registers its operations)

_LINES_PER_CALL = 64


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model_dir", required=True, help="a SavedModel")
    parser.add_argument("--input_file", help="a text, or a pair, a line")
    parser.add_argument("texts", nargs="*", help="texts, or pairs with a tab")
    args = parser.parse_args()
    try:
        if not Path(args.model_dir, "saved_model.pb").is_file():
            raise FileNotFoundError(
                f"No SavedModel at {args.model_dir}; make one with "
                "run_scripts/export_model.py."
            )
        if args.texts:
            answer_lines(args.model_dir, args.texts)
        elif args.input_file:
            with open(args.input_file, encoding="utf-8") as lines:
                answer_lines(args.model_dir, lines)
        else:
            answer_lines(args.model_dir, sys.stdin)
    except (OSError, ValueError) as error:
        sys.exit(f"Error: {error}")


def answer_lines(model_dir, lines):
    serve = tf.saved_model.load(model_dir).signatures["serving_default"]
    names = sorted(serve.structured_input_signature[1])
    labels_file = Path(model_dir, "assets", "labels.txt")
    labels = []
    if labels_file.is_file():
        labels = labels_file.read_text(encoding="utf-8").splitlines()
    chunk = []
    for number, line in enumerate(lines, 1):
        fields = [line.rstrip("\r\n")]
        if len(names) > 1:
            fields = fields[0].split("\t")
        if len(fields) != len(names):
            raise ValueError(
                f"Line {number} has {len(fields)} texts, but the model reads "
                f"{len(names)}, separated by a tab."
            )
        chunk.append(fields)
        if len(chunk) == _LINES_PER_CALL:
            answer_chunk(serve, names, labels, chunk)
            chunk = []
    if chunk:
        answer_chunk(serve, names, labels, chunk)


def answer_chunk(serve, names, labels, chunk):
    columns = dict(zip(names, zip(*chunk, strict=True), strict=True))
    answers = serve(**{k: tf.constant(texts) for k, texts in columns.items()})
    for i, fields in enumerate(chunk):
        line = dict(zip(names, fields, strict=True))
        if labels:
            line["label"] = answers["label"][i].numpy().decode()
            scores = answers["scores"][i].numpy().tolist()
            line["scores"] = dict(zip(labels, scores, strict=True))
        else:
            line["score"] = float(answers["score"][i])
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
