"""Answers raw strings with an exported model; prints a JSON object a line.

    python run_scripts/predict.py --model_dir=served 'a lovely film'
    python run_scripts/predict.py --model_dir=served --input_file=texts.txt

Without texts and file, reads standard input. A line is a text; or the texts
that the model reads, separated by tabs, in the order of its
assets/inputs.txt; or a JSON object with their names. Of endings, all that
stand behind the first text are taken. Needs only tensorflow and
tensorflow_text.
"""

import argparse
import itertools
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
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
    specs = serve.structured_input_signature[1]
    names = asset_lines(model_dir, "inputs.txt")
    labels = asset_lines(model_dir, "labels.txt")
    texts = (
        read_line(number, line.rstrip("\r\n").lstrip("\ufeff"), names, specs)
        for number, line in enumerate(lines, 1)
    )
    # A tensor of endings has equally many everywhere.
    for _, alike in itertools.groupby(texts, num_endings):
        while chunk := list(itertools.islice(alike, _LINES_PER_CALL)):
            answer_chunk(serve, labels, chunk)


def num_endings(texts):
    return [len(text) for text in texts.values() if isinstance(text, list)]


def asset_lines(model_dir, name):
    file = Path(model_dir, "assets", name)
    if not file.is_file():
        return []
    return file.read_text(encoding="utf-8").splitlines()


def read_line(number, line, names, specs):
    """Returns the texts of a line by name; endings are a list."""
    if line.startswith("{"):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise ValueError(
                f"Line {number} begins as a JSON object but is none: {error}."
            ) from error
        fields = [values[name] for name in names if name in values]
    else:
        fields = line.split("\t") if len(names) > 1 else [line]
        if is_list(specs[names[-1]]):
            fields[len(names) - 1 :] = [fields[len(names) - 1 :]]
    if len(fields) != len(names):
        raise ValueError(
            f"Line {number} has {len(fields)} texts, but the model reads "
            f"{len(names)}: {', '.join(names)}, separated by tabs or as a "
            "JSON object."
        )
    texts = dict(zip(names, fields, strict=True))
    for name, value in texts.items():
        parts = value if is_list(specs[name]) else [value]
        if not (
            isinstance(parts, list)
            and parts
            and all(isinstance(part, str) for part in parts)
        ):
            kind = "a list of strings" if is_list(specs[name]) else "a string"
            raise ValueError(f"The {name} of line {number} must be {kind}.")
    return texts


def is_list(spec):
    return len(spec.shape) == 2


def answer_chunk(serve, labels, chunk):
    columns = {name: [line[name] for line in chunk] for name in chunk[0]}
    answers = serve(**{k: tf.constant(texts) for k, texts in columns.items()})
    answers = {name: plain(values) for name, values in answers.items()}
    entity = [name for name in answers if name.startswith("entity_")]
    for i, line in enumerate(chunk):
        answer = {k: v[i] for k, v in answers.items() if k not in entity}
        if labels and "scores" in answer:
            answer["scores"] = dict(zip(labels, answer["scores"], strict=True))
        if entity:
            answer["entities"] = entities(
                {name: answers[name][i] for name in entity}
            )
        print(json.dumps(line | answer, ensure_ascii=False))


def plain(values):
    """A tensor -> nested lists of str and numbers."""
    array = values.numpy()
    if array.dtype == object:
        array = np.char.decode(array.astype(bytes), "utf-8")
    return array.tolist()


def entities(columns):
    """Padded columns `entity_type`, ... of a text -> a list of entities."""
    names = [name.removeprefix("entity_") for name in columns]
    rows = zip(*columns.values(), strict=True)
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [entity for entity in found if entity["type"]]


if __name__ == "__main__":
    main()
