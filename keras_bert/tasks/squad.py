"""SQuAD (Rajpurkar et al. 2016 and 2018), from the official JSON files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.readers import reader


def read_squad(
    file: str | Path, *, answers_may_be_missing: bool
) -> Sequence[Row]:
    """Returns rows with `id`, `question`, `context` and gold answers (`label`).

    Raises InputError if the file is not in SQuAD's format, if an answer starts
    outside of its context, or, unless `answers_may_be_missing`, if a question
    has no answer. The text of an answer may differ from the context at its
    answer_start, as in files of other data sets; training skips such an answer.
    """
    file = to_path(file)
    try:
        content = json.loads(file.read_bytes().decode("utf-8-sig"))
    except ValueError as error:  # not JSON, or not UTF-8
        raise InputError(
            f"{file} is not JSON: {error}; give an official SQuAD file."
        ) from error
    rows = []
    for number, article in enumerate(_get(content, "data", list, file), 1):
        place = f"Article {number} of {file}"
        for paragraph in _get(article, "paragraphs", list, place):
            context = _get(paragraph, "context", str, place)
            for question in _get(paragraph, "qas", list, place):
                id_ = _get(question, "id", str, place)
                place_of_id = f"Question {id_} of {file}"
                row = {
                    "id": id_,
                    "question": _get(question, "question", str, place_of_id),
                    "context": context,
                    "label": _label(question, context, place_of_id),
                }
                if not row["label"] and not answers_may_be_missing:
                    raise InputError(
                        f"{place_of_id} has no answer; use the task squad/v2, "
                        "where answers may be missing."
                    )
                rows.append(row)
    return rows


def _get(values: Any, key: str, type_: type, place: object) -> Any:
    if not isinstance(values, dict) or not isinstance(values.get(key), type_):
        kind = "string" if type_ is str else "list"
        raise InputError(
            f"{place} has no {kind} {key!r}; give an official SQuAD file."
        )
    return values[key]


def _label(question: Any, context: str, place: str) -> list[Row]:
    answers = _get(question, "answers", list, place)
    is_impossible = question.get("is_impossible", False)
    if not isinstance(is_impossible, bool):
        raise InputError(
            f"{place} has is_impossible = {is_impossible!r}; give true or "
            "false, without quotes."
        )
    label: list[Row] = []
    for answer in [] if is_impossible else answers:
        text = _get(answer, "text", str, f"An answer of {place}")
        start = answer.get("answer_start")
        if not isinstance(start, int) or not 0 <= start < len(context):
            raise InputError(
                f"Answer {text!r} of {place} has the answer_start {start!r}; "
                "give the index of the text's first character in the context "
                f"of {len(context)} characters."
            )
        label.append({"text": text, "answer_start": start})
    return label


def _task(version: str, *, answers_may_be_missing: bool) -> Task:
    def read(path: Path, labeled: bool) -> Sequence[Row]:
        return read_squad(path, answers_may_be_missing=answers_may_be_missing)

    return Task(
        kind="span",
        text_fields=("question", "context"),
        metrics=("f1", "exact_match"),
        read=reader(
            read,
            {
                "train": f"train-v{version}.json",
                "validation": f"dev-v{version}.json",
            },
        ),
        settings={"answers_may_be_missing": answers_may_be_missing},
    )


TASKS = {
    "squad/v1": _task("1.1", answers_may_be_missing=False),
    "squad/v2": _task("2.0", answers_may_be_missing=True),
}
