"""An exported model, called with plain Python values."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.errors import InputError, is_list
from keras_bert.io.folders import local_copy
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import is_whole
from keras_bert.predict.load_functions import load_functions
from keras_bert.predict.versions import find_versions, read_description

_REQUESTS_PER_CALL = 64
# This limits the memory of the tokenizer's graph.
_BYTES_PER_CALL = 500_000


class ServedModel:
    """A signature of an exported model, called with plain Python values.

    Attributes:
        folder: The folder of the version.
        kind: The kind of the task.
        labels: The labels, in the order of their ids.
        signatures: The names of the signatures that take texts.
        inputs: The names of the inputs of the chosen signature, in the order
            of the task's fields.

    Example:
        >>> folder = keras_bert.load_finetuned("finetuned").export("served")
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
            model_dir: The folder of one version, or the folder of all versions,
                of which the highest is loaded.
            signature: The name of the signature to call.

        Raises:
            InputError: If there is no such model, or no such signature.
        """
        self.folder, values = find_model(model_dir, signature)
        self.kind = values["kind"]
        self.labels = tuple(values["labels"])
        self.signatures = tuple(values["signatures"])
        self._by_label = values["signatures"][signature]["by_label"]
        self._ranks = values["signatures"][signature]["inputs"]
        self.inputs = tuple(self._ranks)
        functions = load_functions(local_copy(self.folder), signature)
        self._serve = functions[signature].call

    def check(self, request: Mapping[str, Any] | str, place: str) -> dict:
        """Returns the inputs of a request, without any other keys.

        Raises InputError if an input is missing or wrong. `place` names the
        request in the message, such as "request 1".
        """
        if isinstance(request, str) and len(self.inputs) == 1:
            request = dict.fromkeys(self.inputs, request)
        if not isinstance(request, Mapping):
            raise InputError(
                f"{capitalized(place)} is {request!r:.100}, but must be a dict "
                f"such as {self.example}."
            )
        if not set(self.inputs) <= set(request):
            given = ", ".join(map(str, request))
            raise InputError(
                f"{capitalized(place)} has "
                f"{f'the fields {given}' if given else 'no fields'}, but the "
                f"model takes {', '.join(self.inputs)}; write it as "
                f"{self.example}."
            )
        for name in self.inputs:
            value = request[name]
            parts = value if self.is_list(name) else [value]
            if not (
                isinstance(parts, (list, tuple))
                and parts
                and all(isinstance(part, str) for part in parts)
            ):
                kind = "a list of strings" if self.is_list(name) else "a string"
                raise InputError(f"The {name} of {place} must be {kind}.")
            if any(not is_unicode(part) for part in parts):
                raise InputError(
                    f"The {name} of {place} contains half of a surrogate "
                    "pair (broken Unicode); fix the text."
                )
        return {name: request[name] for name in self.inputs}

    def answer(self, requests: Sequence[Mapping[str, Any] | str]) -> list[dict]:
        """Returns the answer to each request, in order.

        A request is a dict with the inputs, keyed by name. For a model with one
        input, a request may be a string. An answer is a dict of outputs.
        """
        if not is_list(requests):
            raise InputError(
                f"The requests are {requests!r:.100}, but must be a list of "
                f"dicts such as {self.example}."
            )
        checked = [
            self.check(request, f"request {number}")
            for number, request in enumerate(requests, 1)
        ]
        answers: dict[int, dict] = {}
        for call in _calls(checked):
            part = self._answer([checked[i] for i in call])
            answers |= zip(call, part, strict=True)
        return [answers[i] for i in range(len(checked))]

    @property
    def example(self) -> str:
        """An example of a request, as JSON, for messages."""
        return json.dumps(
            {x: ["..."] if self.is_list(x) else "..." for x in self.inputs}
        )

    def is_list(self, name: str) -> bool:
        """Returns whether an input is a list of strings."""
        return self._ranks[name] == 2

    def _answer(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        encode = np.frompyfunc(str.encode, 1, 1)
        columns = {
            name: encode(np.array([_full(x[name]) for x in requests], object))
            for name in self.inputs
        }
        # The order of a SavedModel's outputs differs between processes.
        arrays = dict(sorted(self._serve(columns).items()))
        check_no_nan(arrays, self.folder)
        outputs = {name: _to_lists(values) for name, values in arrays.items()}
        return [
            self._nested({name: x[i] for name, x in outputs.items()})
            for i in range(len(requests))
        ]

    def _nested(self, flat: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        groups: dict[str, dict] = {}
        for name, value in flat.items():
            group, _, field = name.partition(".")
            if field:
                groups.setdefault(group, {})[field] = value
                continue
            if name in self._by_label:
                value = dict(zip(self.labels, value, strict=True))
            elif isinstance(value, list):  # strings are padded with ""
                value = [x for x in value if x != ""]
            answer[name] = value
        for group, fields in groups.items():
            rows = zip(*fields.values(), strict=True)
            items = (dict(zip(fields, row, strict=True)) for row in rows)
            answer[group] = [x for x in items if not _is_padding(x)]
        return answer


def find_model(model_dir: str | Path, signature: str) -> tuple[Path, dict]:
    """Returns the folder of the highest version, and its `model.json`.

    Raises InputError if there is no such model, or no such signature.
    """
    versions = find_versions(model_dir)
    folder = versions[max(versions)] if versions else to_path(model_dir)
    values = read_description(folder)
    if not (values and is_whole(folder)):
        raise InputError(
            f"{folder} is not an exported model; make one with "
            "keras-bert export."
        )
    if signature not in values["signatures"]:
        raise InputError(
            f"{folder} has no signature {signature!r} that takes texts, only "
            f"{', '.join(values['signatures'])}."
        )
    return folder, values


def check_no_nan(outputs: Mapping[str, np.ndarray], model: Any) -> None:
    """Raises InputError if an output contains NaN."""
    for name, values in outputs.items():
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise InputError(
                f"The output {name} of {model} is not a number (NaN). The "
                "weights are damaged, or too large for float16; train the "
                "model again, or use bfloat16 or float32."
            )


def _is_padding(fields: Mapping[str, Any]) -> bool:
    """Returns whether a part of an answer is padding.

    A part with strings is padding if all its strings are empty. A part without
    strings is padding if all its numbers are 0.
    """
    values = [v[0] if isinstance(v, list) else v for v in fields.values()]
    return not any([x for x in values if isinstance(x, str)] or values)


def capitalized(place: str) -> str:
    """Returns a text with a capital first letter."""
    return place[0].upper() + place[1:]


def is_unicode(text: str) -> bool:
    """Returns whether a text is valid Unicode: no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _calls(requests: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Yields the indices of the requests for each call.

    All rows of a call are padded to the longest row, so texts of similar length
    share a call. If an input is a list of strings, the lists of all requests in
    a call have the same length, because the call passes them as one array.
    """
    sizes = []
    for request in requests:
        lists = [[x] if isinstance(x, str) else x for x in request.values()]
        num_bytes = sum(len(x.encode()) for x in itertools.chain(*lists))
        sizes.append(([len(x) for x in lists], num_bytes))
    call: list[int] = []
    size = 0
    for i in sorted(range(len(requests)), key=lambda i: sizes[i]):
        list_lengths, num_bytes = sizes[i]
        size += num_bytes
        if call and (
            len(call) == _REQUESTS_PER_CALL
            or size > _BYTES_PER_CALL
            or list_lengths != sizes[call[0]][0]
        ):
            yield call
            call, size = [], num_bytes
        call.append(i)
    if call:
        yield call


def _full(value: str | Sequence[str]) -> str | list[str]:
    """Returns a value; an empty string at the end of a list becomes a space.

    An empty string at the end would count as padding. A space does not, and it
    has no tokens either.
    """
    if isinstance(value, str):
        return value
    return [*value[:-1], value[-1] or " "]


def _to_lists(array: np.ndarray) -> list:
    if array.dtype == object:
        array = np.char.decode(array.astype(bytes), "utf-8")
    return array.tolist()
