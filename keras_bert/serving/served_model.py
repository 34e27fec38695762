"""A SavedModel that reads requests and writes answers as JSON.

Imports tensorflow and tensorflow_text, but neither keras nor the rest of this
package.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)

from keras_bert.errors import InputError
from keras_bert.serving.versions import find_versions

# The file in `assets` that tells of the model and its signatures.
DESCRIPTION = "model.json"
_REQUESTS_PER_CALL = 64


class ServedModel:
    """A signature of an exported model, asked in plain Python values.

    Attributes:
        kind: The kind of the task.
        labels: The labels, in the order of their ids.
        signatures: The names of the signatures.
        inputs: The names of the inputs of the chosen signature, in the order
            of the task's fields.

    Example:
        >>> keras_bert.load_finetuned("finetuned").export("served")
        >>> model = keras_bert.ServedModel("served")
        >>> model.inputs
        ('sentence',)
        >>> (answer,) = model.answer([{"sentence": "a very good film"}])
        >>> sorted(answer)
        ['label', 'num_tokens', 'scores', 'truncated']
    """

    def __init__(
        self, model_dir: str | Path, signature: str = "serving_default"
    ):
        """Loads an exported model.

        Args:
            model_dir: The folder of one version, or of all versions; then the
                highest one is loaded.
            signature: The name of the signature to ask.

        Raises:
            InputError: If there is no such model, or no such signature.
        """
        versions = find_versions(model_dir)
        model_dir = versions[max(versions)] if versions else Path(model_dir)
        description = Path(model_dir, "assets", DESCRIPTION)
        if not description.is_file():
            raise InputError(
                f"{model_dir} is not an exported model; make one with "
                "run_scripts/export_model.py."
            )
        values = json.loads(description.read_text(encoding="utf-8"))
        if signature not in values["signatures"]:
            raise InputError(
                f"{model_dir} has no signature {signature!r}, only "
                f"{', '.join(values['signatures'])}."
            )
        self.kind = values["kind"]
        self.labels = tuple(values["labels"])
        self.signatures = tuple(values["signatures"])
        self._by_label = values["signatures"][signature]["by_label"]
        self._ranks = values["signatures"][signature]["inputs"]
        self.inputs = tuple(self._ranks)
        # The model is kept: its variables live only as long as it does.
        self._model = tf.saved_model.load(str(model_dir))
        self._serve = self._model.signatures[signature]

    def read_line(self, line: str, number: int) -> dict[str, Any]:
        """Returns the request on a line of text.

        A line is a JSON object with the inputs, or the inputs with tabs
        between them. An input that is a list takes the rest of the line.

        Raises InputError, which names the line, for anything else.
        """
        place = f"line {number}"
        values = _json_object(line)
        if values is not None and (set(values) & set(self.inputs)):
            return self.check(values, place)
        fields: list = line.split("\t") if len(self.inputs) > 1 else [line]
        if self._is_list(self.inputs[-1]):
            start = len(self.inputs) - 1
            fields[start:] = [fields[start:]]
        if len(fields) != len(self.inputs):
            raise InputError(
                f"Line {number} has {len(fields)} texts, but the model takes "
                f"{len(self.inputs)}: {', '.join(self.inputs)}. Separate them "
                "by tabs, or give a JSON object."
            )
        return self.check(dict(zip(self.inputs, fields, strict=True)), place)

    def check(self, request: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Returns the inputs of a request, without any other keys.

        Raises InputError, which names the place, if one is missing or wrong.
        """
        for name in self.inputs:
            value = request.get(name)
            parts = value if self._is_list(name) else [value]
            if not (
                isinstance(parts, (list, tuple))
                and parts
                and all(isinstance(part, str) for part in parts)
            ):
                kind = (
                    "a list of strings" if self._is_list(name) else "a string"
                )
                raise InputError(f"The {name} of {place} must be {kind}.")
            if any(not _is_unicode(part) for part in parts):
                raise InputError(
                    f"The {name} of {place} has half of a character; check "
                    "how the text was made."
                )
        return {name: request[name] for name in self.inputs}

    def answer(self, requests: Sequence[Mapping[str, Any]]) -> list[dict]:
        """Answers requests, each a dict with the inputs."""
        requests = [
            self.check(request, f"request {number}")
            for number, request in enumerate(requests, 1)
        ]
        # A tensor of lists has the same number of strings in every row.
        answers: list[dict] = []
        for _, alike in itertools.groupby(requests, self._list_lengths):
            while chunk := list(itertools.islice(alike, _REQUESTS_PER_CALL)):
                answers += self._answer(chunk)
        return answers

    def answer_lines(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields each request with its answer, or with an `error`."""
        numbered = enumerate(lines, 1)
        while chunk := list(itertools.islice(numbered, _REQUESTS_PER_CALL)):
            results: list[dict] = []
            for number, line in chunk:
                try:
                    line = line.rstrip("\r\n").removeprefix("\ufeff")
                    results.append(self.read_line(line, number))
                except InputError as error:
                    results.append({"line": number, "error": str(error)})
            requests = [r for r in results if "error" not in r]
            answers = iter(self.answer(requests))
            for result in results:
                yield result if "error" in result else result | next(answers)

    def _is_list(self, name):
        return self._ranks[name] == 2

    def _list_lengths(self, request):
        return [len(x) for x in request.values() if not isinstance(x, str)]

    def _answer(self, requests):
        columns = {
            name: tf.constant([request[name] for request in requests])
            for name in self.inputs
        }
        outputs = {
            name: _to_lists(values)
            for name, values in self._serve(**columns).items()
        }
        return [
            self._nested({name: x[i] for name, x in outputs.items()})
            for i in range(len(requests))
        ]

    def _nested(self, flat):
        answer = {}
        for name, value in sorted(flat.items()):
            if name in self._by_label:
                value = dict(zip(self.labels, value, strict=True))
            elif isinstance(value, list):  # strings are padded with ""
                value = [x for x in value if x != ""]
            if "." not in name:
                answer[name] = value
        for group in dict.fromkeys(n.split(".")[0] for n in flat if "." in n):
            fields = {
                name.split(".")[1]: values
                for name, values in flat.items()
                if name.startswith(f"{group}.")
            }
            rows = zip(*fields.values(), strict=True)
            found = [dict(zip(fields, row, strict=True)) for row in rows]
            answer[group] = [x for x in found if not _is_padding(x)]
        return answer


def _is_padding(fields):
    """Returns whether all strings of an object are empty."""
    values = [v[0] if isinstance(v, list) else v for v in fields.values()]
    return not any(value for value in values if isinstance(value, str))


def _json_object(line):
    if not line.lstrip().startswith("{"):
        return None
    try:
        values = json.loads(line)
    except ValueError:
        return None  # a text that begins with a brace
    return values if isinstance(values, dict) else None


def _is_unicode(text):
    """Returns whether no half of a surrogate pair is in the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _to_lists(values):
    array = values.numpy()
    if array.dtype == object:
        array = np.char.decode(array.astype(bytes), "utf-8")
    return array.tolist()
