"""config.json of transformers -> what the head of its model is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.checkpoints.find import read_json
from keras_bert.checkpoints.sentence_transformers import modules_folder
from keras_bert.errors import InputError


@dataclasses.dataclass(frozen=True)
class HubConfig:
    """The values of a `config.json`; none if there is no such file.

    There are none either if the model is one of sentence-transformers, whose
    other files say what it is for.
    """

    file: Path
    values: Mapping[str, Any]

    @classmethod
    def beside(cls, folder: Path) -> HubConfig:
        """Reads the config beside the weights."""
        file = folder / "config.json"
        if modules_folder(folder):
            return cls(file, {})
        return cls(file, read_json(file, is_needed=False))

    @property
    def architecture(self) -> str:
        """The class of the model in PyTorch; "" if the config names none."""
        names = self.values.get("architectures")
        name = str(names[0]) if isinstance(names, list) and names else ""
        return name.removeprefix("TF").removeprefix("Flax")

    @property
    def problem_type(self) -> str | None:
        """What a classifier of texts is trained on, if the config says it."""
        return self.values.get("problem_type")

    @property
    def num_outputs(self) -> int:
        """The number of outputs, as transformers finds it."""
        names = self.values.get("id2label")
        if names is None:
            return self.values.get("num_labels", 2)
        return len(names) if isinstance(names, dict) else 0

    def described(self) -> str:
        """Returns what the config says of the head, for messages."""
        if not self.architecture:
            return "no config.json names its architecture"
        said = f"config.json says {self.architecture}"
        if "id2label" in self.values:
            said += f" of {self.num_outputs} outputs ({self.problem_type})"
        return said

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the outputs; LABEL_0, LABEL_1 ... if they have none.

        Raises InputError if the names do not belong to numbers from 0.
        """
        count = self.num_outputs
        names = self.values.get("id2label")
        if names is None and isinstance(count, int):
            names = {str(i): f"LABEL_{i}" for i in range(count)}
        numbers = [str(i) for i in range(len(names or ()))]
        if not isinstance(names, dict) or set(names) != set(numbers):
            raise InputError(
                f"id2label in {self.file} is {names!r:.80}, but must name the "
                'outputs "0", "1" and so on; copy the file again.'
            )
        return tuple(str(names[number]) for number in numbers)
