"""A SavedModel that is asked in plain Python values.

Imports tensorflow and tensorflow_text, but neither keras nor the rest of this
package.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)

from keras_bert.errors import InputError

# The file in `assets` with the labels and the inputs of each signature.
DESCRIPTION = "task.json"
_REQUESTS_PER_CALL = 64


class ServedModel:
    """A signature of an exported model, asked in plain Python values.

    Attributes:
        inputs: The names of the inputs, in the order of the task's fields.

    Example:
        >>> keras_bert.load_finetuned("finetuned").export("served")
        >>> model = keras_bert.ServedModel("served")
        >>> model.inputs
        ('sentence',)
        >>> (answer,) = model.answer([{"sentence": "a very good film"}])
        >>> sorted(answer)
        ['label', 'scores']
    """

    def __init__(
        self, model_dir: str | Path, signature: str = "serving_default"
    ):
        """Loads what `FinetunedModel.export` wrote.

        Raises InputError if there is no such model, or no such signature.
        """
        values = read_description(model_dir, signature)
        self._labels = values["labels"]
        self._by_label = values["signatures"][signature]["by_label"]
        self._ranks = values["signatures"][signature]["inputs"]
        self.inputs = tuple(self._ranks)
        # The model is kept: its variables live only as long as it does.
        self._model = tf.saved_model.load(str(model_dir))
        self._serve = self._model.signatures[signature]

    def check(self, request: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Returns the inputs of a request, without any other keys.

        Raises InputError, which names the place, if one is missing or wrong.
        """
        for name in self.inputs:
            value = request.get(name)
            parts = value if self.is_list(name) else [value]
            if not (
                isinstance(parts, (list, tuple))
                and parts
                and all(isinstance(part, str) for part in parts)
            ):
                kind = "a list of strings" if self.is_list(name) else "a string"
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
        # A tensor of lists has the same number of strings in every row. All
        # rows are padded to the longest one, so texts of like length go
        # together.
        numbered = sorted(enumerate(requests), key=lambda x: _sizes(x[1]))
        answers: dict[int, dict] = {}
        for _, alike in itertools.groupby(
            numbered, lambda x: _list_lengths(x[1])
        ):
            while chunk := list(itertools.islice(alike, _REQUESTS_PER_CALL)):
                numbers, rows = zip(*chunk, strict=True)
                answers |= zip(numbers, self._answer(rows), strict=True)
        return [answers[number] for number in range(len(requests))]

    def is_list(self, name: str) -> bool:
        """Returns whether an input is a list of strings."""
        return self._ranks[name] == 2

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
                value = dict(zip(self._labels, value, strict=True))
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
            # An object is padding if all its strings are empty.
            answer[group] = [
                x for x in found if any(v for v in x.values() if type(v) is str)
            ]
        return answer


def read_description(model_dir: str | Path, signature: str) -> dict[str, Any]:
    """Returns what an export says about itself.

    Raises InputError if there is no such model, or no such signature.
    """
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
    return values


def _is_unicode(text):
    """Returns whether no half of a surrogate pair is in the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sizes(request):
    return _list_lengths(request), sum(
        len(part.encode())
        for value in request.values()
        for part in ([value] if isinstance(value, str) else value)
    )


def _list_lengths(request):
    return [len(x) for x in request.values() if not isinstance(x, str)]


def _to_lists(values):
    array = values.numpy()
    if array.dtype == object:
        array = np.char.decode(array.astype(bytes), "utf-8")
    return array.tolist()
