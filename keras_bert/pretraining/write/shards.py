"""Record files that grow block by block, and survive a kill at any moment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.files import atomic_path, check_is_not_folder
from keras_bert.pretraining.write.blocks_to_records import with_fill_rate
from keras_bert.pretraining.write.lines_to_blocks import Block
from keras_bert.pretraining.write.parts import Part


class RecordShards:
    """The files of one run, and beside the first of them a `.json` about it.

    A file grows under a hidden name and gets its own when all are whole. The
    JSON is written after each block: a run that was interrupted goes on behind
    the last block it tells of. Where files of a finished run are missing, only
    these are made again.
    """

    def __init__(self, files: list[str | Path], settings: dict[str, Any]):
        """Raises InputError where the files are there with other settings.

        And where they cannot all be made, before the work is done.
        """
        self._files = [Path(file) for file in files]
        _check_names(self._files)
        self._json = self._files[0].with_name(self._files[0].name + ".json")
        state = self._read_state(settings)
        if not state:
            state = _new_state(settings, [True] * len(files))
        elif state["is_complete"]:
            self._publish(state)
            is_missing = [not file.exists() for file in self._files]
            if any(is_missing):
                state = _new_state(settings, is_missing, state["digest"])
        elif not self._cut_back(state):
            is_missing = [size is not None for size in state["sizes"]]
            state = _new_state(settings, is_missing, state["text_digest"])
        self._state = state

    def has(self, block: Block) -> bool:
        """Whether the block is in the files already.

        Raises InputError where the text is another one than it was.
        """
        state = self._state
        num_blocks = state["num_blocks"]
        is_last = block.number + 1 == num_blocks
        is_behind = block.number >= num_blocks and state["is_complete"]
        if is_behind or (is_last and block.digest != state["digest"]):
            raise self._other_text()
        return block.number < num_blocks

    def append(self, part: Part) -> None:
        """Appends the next block, a stretch of it to each of the files.

        Blocks begin with another file each, so that all grow alike.
        """
        state = self._state
        if not state["num_blocks"]:
            # Else a kill in the first block would leave a half-written file
            # under the state of an earlier run, which tells of a whole one.
            self._remove_partials()
            self._write_state()
        with part.file.open("rb") as source:
            for i, size in enumerate(part.sizes):
                shard = (state["num_blocks"] + i) % len(self._files)
                if state["sizes"][shard] is None:  # whole since an earlier run
                    source.seek(size, os.SEEK_CUR)
                    continue
                path = _partial(self._files[shard])
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as target:
                    _copy(source, target, size)
                state["sizes"][shard] += size
        for name, count in part.counts.items():
            state["counts"][name] = state["counts"].get(name, 0) + count
        state["num_blocks"] += 1
        state["digest"] = part.block.digest
        self._write_state()

    def finish(self, last: Block | None) -> dict[str, float]:
        """Gives the files their names; returns the counts of all blocks.

        With them, and in the JSON, is the fill rate.

        Args:
            last: The last block of the text.
        """
        state = self._state
        digest = last.digest if last else ""
        if digest != state["digest"]:
            raise self._other_text()
        if state["text_digest"] not in (None, digest):
            self._discard()
            raise self._other_text()
        if not state["counts"].get("instances"):
            self._discard()
            raise InputError(
                "The text holds no sentence; give one sentence a line and a "
                "blank line between documents."
            )
        state["counts"] = with_fill_rate(
            state["counts"], state["settings"]["max_seq_length"]
        )
        if not state["is_complete"]:
            state["is_complete"] = True
            self._write_state()
            self._publish(state)
        return state["counts"]

    def _read_state(self, settings):
        if not self._json.exists():
            return None
        try:
            state = json.loads(self._json.read_bytes())
        except ValueError:
            state = None
        if (
            not isinstance(state, dict)
            or state.keys() != _new_state({}, []).keys()
        ):
            raise InputError(
                f"{self._json} is not about records, and their own would take "
                "its place; move it away, or choose another output file."
            )
        if state["settings"] == settings:
            return state
        if not any(file.exists() for file in self._files):
            return None  # of an interrupted run, which nobody goes on with
        before = state["settings"]
        differing = [
            f"{name} {before.get(name)!r}, now {settings.get(name)!r}"
            for name in before | settings
            if before.get(name) != settings.get(name)
        ]
        raise InputError(
            f"{self._files[0]} was made with other settings "
            f"({'; '.join(differing)}); delete {self._json} to make it anew, "
            "or choose another output file."
        )

    def _cut_back(self, state):
        """Undoes a half-written block; False where a file is gone."""
        for file, size in zip(self._files, state["sizes"], strict=True):
            if size is None:
                continue
            path = _partial(file)
            if not path.exists() or path.stat().st_size < size:
                return False
            os.truncate(path, size)
        return True

    def _publish(self, state):
        for file, size in zip(self._files, state["sizes"], strict=True):
            if size is not None and _partial(file).exists():
                _partial(file).replace(file)

    def _write_state(self):
        with atomic_path(self._json) as path:
            path.write_text(
                json.dumps(self._state, indent=2) + "\n", encoding="utf-8"
            )

    def _remove_partials(self):
        for file in self._files:
            _partial(file).unlink(missing_ok=True)

    def _discard(self):
        self._remove_partials()
        if self._state["text_digest"] is None:
            self._json.unlink(missing_ok=True)

    def _other_text(self):
        return InputError(
            f"The text is not the one that {self._files[0]} was made of; "
            f"delete {self._json} to make it anew, or choose another output "
            "file."
        )


def _check_names(files):
    for file in files:
        check_is_not_folder(file)
    if len({file.resolve() for file in files}) < len(files):
        names = ", ".join(map(str, files))
        raise InputError(
            f"Of the output files {names}, two are the same; give each one "
            "another name."
        )


def _new_state(settings, is_missing, text_digest=None):
    return {
        "settings": settings,
        "is_complete": False,
        "num_blocks": 0,
        "digest": "",  # of the text of these blocks
        "text_digest": text_digest,  # of the whole text, if it was complete
        "sizes": [0 if missing else None for missing in is_missing],
        "counts": {},
    }


def _partial(file: Path) -> Path:
    return file.with_name(f".{file.name}.partial")


def _copy(source, target, size):
    while size:
        size -= target.write(source.read(min(size, 1 << 20)))
