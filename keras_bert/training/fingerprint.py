"""Fingerprints of runs, so that a run resumes only from its own checkpoints."""

import dataclasses
import hashlib
import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError

FINGERPRINT_FILE = "fingerprint.json"


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """All that determines the result of a run; saved in its checkpoints.

    Attributes:
        settings: The values that a message can show, such as the learning rate.
        digests: A mapping from the names of larger data, such as "training
            rows", to their hashes.
    """

    settings: Mapping[str, Any]
    digests: Mapping[str, str]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    def check_is_that_of(self, folder: Path, output_dir: Path) -> None:
        """Raises InputError if a checkpoint belongs to another run."""
        if changes := self._changes(folder):
            raise InputError(
                f"The run in {output_dir} was started with "
                f"{', '.join(changes)}. To resume that run, use its values "
                "again. To start a new run, give another output_dir, or give "
                "overwrite_output_dir."
            )

    def _changes(self, folder: Path) -> list[str]:
        try:
            text = (folder / FINGERPRINT_FILE).read_text(encoding="utf-8")
        except FileNotFoundError:
            return [f"an earlier version, which wrote no {FINGERPRINT_FILE}"]
        before = Fingerprint(**json.loads(text))
        now = Fingerprint(**json.loads(self.to_json()))  # tuples become lists
        return [
            f"{name} {reprlib.repr(before.settings.get(name))} instead of "
            f"{reprlib.repr(value)}"
            for name, value in now.settings.items()
            if before.settings.get(name) != value
        ] + [
            f"other {name}"
            for name in {**now.digests, **before.digests}
            if now.digests.get(name) != before.digests.get(name)
        ]


def digest_of(*parts: bytes | str | memoryview) -> str:
    """Returns a hash of the parts that depends on where each part ends."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, str):
            part = part.encode()
        digest.update(hashlib.blake2b(part, digest_size=16).digest())
    return digest.hexdigest()
