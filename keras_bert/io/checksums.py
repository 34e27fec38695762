"""Checksums of the files in a folder reveal damaged and replaced files."""

import json
from collections.abc import Iterable
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote

CHECKSUMS_FILE = "checksums.json"


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Writes the checksums of the named files into their local folder."""
    names = sorted({*names} - {CHECKSUMS_FILE})
    checksums = {name: _checksum(folder / name) for name in names}
    text = json.dumps(checksums, indent=2) + "\n"
    (folder / CHECKSUMS_FILE).write_text(text)


def find_damage(folder: Path) -> str | None:
    """Returns what is damaged or missing in a folder, as a string, or None.

    A folder without checksums, such as a folder that a user made, is not
    checked. Nor is a folder on a store, because a store checks its objects.
    """
    file = folder / CHECKSUMS_FILE
    if is_remote(folder) or not file.is_file():
        return None
    try:
        checksums = dict(json.loads(file.read_bytes()))
    except (TypeError, ValueError):
        return f"{CHECKSUMS_FILE} is damaged"
    for name, checksum in checksums.items():
        if not (folder / name).is_file():
            return f"{name} is missing"
        if _checksum(folder / name) != checksum:
            return f"{name} is damaged"
    return None


def check_is_undamaged(folder: Path) -> None:
    """Raises InputError if a file differs from its checksum in the folder."""
    if damage := find_damage(folder):
        raise InputError(
            f"{folder} cannot be used: {damage}; copy the folder again. If "
            f"you changed the file yourself, remove {CHECKSUMS_FILE}."
        )


def _checksum(file: Path) -> str:
    import google_crc32c  # only where there are checksums

    checksum = google_crc32c.Checksum()
    with file.open("rb") as opened:
        for _ in checksum.consume(opened, 1 << 20):
            pass
    return checksum.hexdigest().decode()
