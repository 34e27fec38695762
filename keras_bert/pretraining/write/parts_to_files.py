"""Parts -> the output files of a run; an interrupted run keeps its parts."""

import collections
import contextlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io import whole_files
from keras_bert.io.paths import to_path
from keras_bert.pretraining.records import make_index, save_index
from keras_bert.pretraining.write.config import digest
from keras_bert.pretraining.write.text_to_blocks import Block

# Warnings about text that a model would not learn from. A key is two names of
# counts: the count of this text, and the count of all text. A value is the end
# of the warning.
_LOSSES = {
    ("cut_tokens", "tokens"): "are lost, in sentences longer than a row; set "
    "split_sentences if a line has several sentences, or else raise "
    "max_seq_length.",
    ("one_sentence_documents", "documents"): "have one sentence, so their next "
    "sentence is always random; set split_sentences if a line has several, "
    "or pre-train without next_sentence.",
    ("unmasked_instances", "instances"): "have no mask, because all their "
    "words have too many pieces to be masked; turn do_whole_word_mask off.",
}
# A warning is logged if more than this share of a count is lost.
_NOTABLE = 0.2


class OutputFiles:
    """The record files of a run and, beside the first, a `.json` about them.

    The parts are in a hidden folder beside the first file. When all parts are
    complete, `join` makes the files and their indexes from the parts, writes
    the `.json`, and deletes the parts.

    Attributes:
        num_files: The number of files.
        is_finished: Whether an earlier run has made all files.
    """

    def __init__(self, files: list[str | Path], settings: dict[str, Any]):
        """Raises InputError if existing files were not made with `settings`.

        Also raises InputError or OSError for names that no file can have.
        """
        self._files = [to_path(file) for file in files]
        if not files:
            raise InputError("There are no output files; give at least one.")
        for file in self._files:
            whole_files.check_is_not_folder(file)
        if len({file.resolve() for file in self._files}) < len(files):
            raise InputError(
                f"Two of the output files {', '.join(map(str, files))} are the "
                "same; give each a different name."
            )
        self.num_files = len(files)
        first = self._files[0]
        self._json = first.with_name(f"{first.name}.json")
        self._folder = first.with_name(f".{first.name}.parts")
        if not whole_files.is_whole(self._folder):
            # A process was killed while it removed the folder.
            whole_files.remove(self._folder)
        # As they are read again: JSON has lists for tuples.
        self._settings = json.loads(json.dumps(settings))
        self._finished = self._read_json()
        self.is_finished = self._finished is not None and all(
            file.exists() for file in self._files
        )

    def part(self, block: Block) -> Path:
        """Returns the path of a block's part, which may not exist yet.

        The name is a hash of the settings, the index of the block's unit and
        the text of the unit up to the end of the block, so a part of another
        run is never taken for this part.
        """
        name = json.dumps([self._settings, block.digest], sort_keys=True)
        return self._folder / digest(name)

    def join(self, parts: list[Path]) -> dict[str, float]:
        """Joins the parts into the files; returns the counts.

        Takes the parts of all blocks of the text, in order.
        """
        finished: Any = self._finished
        text_digest = digest(" ".join(part.name for part in parts))
        if finished and finished["text_digest"] != text_digest:
            whole_files.remove(self._folder)
            raise InputError(
                f"The text is not the one that {self._files[0]} was made from; "
                f"delete {self._json} to make the files again, or choose "
                "another output file."
            )
        if not self.is_finished:
            finished = {
                "settings": self._settings,
                "text_digest": text_digest,
                "counts": self._sum_of_counts(parts),
            }
            whole_files.remove(self._json)
            indexes = {}
            with contextlib.ExitStack() as stack:
                for i, file in enumerate(self._files):
                    path = stack.enter_context(whole_files.atomic_path(file))
                    _concatenate([part / str(i) for part in parts], path)
                    if not self._settings["gzip_compress"]:
                        indexes[file] = make_index(path)
            for file, index in indexes.items():
                save_index(file, index)
            whole_files.write_json(self._json, finished)
        whole_files.remove(self._folder)
        counts = finished["counts"]
        if counts["documents"] == 1:
            logging.warning(
                "The text is one document, so random next sentences come from "
                "the same document; put a blank line between documents."
            )
        for (name, whole), loss in _LOSSES.items():
            # The counts from an earlier version lack some names.
            if (lost := counts.get(name, 0)) > _NOTABLE * counts[whole]:
                share = lost / counts[whole]
                logging.warning(f"{share:.0%} of the {whole} {loss}")
        return counts

    def _sum_of_counts(self, parts: list[Path]) -> dict[str, float]:
        counts: collections.Counter = collections.Counter()
        for part in parts:
            counts.update(json.loads((part / "counts.json").read_bytes()))
        if not counts["instances"]:
            whole_files.remove(self._folder)
            raise InputError(
                "The text has no sentence; give one sentence per line and a "
                "blank line between documents."
            )
        if "input_tokens" in counts:  # pairs are drawn
            size = counts["instances"] * self._settings["max_seq_length"]
            return dict(counts) | {"fill_rate": counts["input_tokens"] / size}
        return dict(counts)

    def _read_json(self) -> dict[str, Any] | None:
        """Returns the `.json` of a finished run, or None.

        None means that there is no `.json`, or that all files are gone.
        """
        if not self._json.exists():
            return None
        try:
            finished = json.loads(self._json.read_bytes())
            before, _, _ = (
                finished[key] for key in ("settings", "text_digest", "counts")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{self._json} does not describe records and would be "
                "replaced; move it away, or choose another output file."
            ) from error
        if not any(file.exists() for file in self._files):
            return None
        differing = [
            f"{name} {before.get(name)!r}, now {self._settings.get(name)!r}"
            for name in before | self._settings
            if before.get(name) != self._settings.get(name)
        ]
        if differing:
            raise InputError(
                f"{self._files[0]} was made with other settings "
                f"({'; '.join(differing)}); delete {self._json} to make the "
                "files again, or choose another output file."
            )
        return finished


def _concatenate(sources: Iterable[Path], path: Path) -> None:
    with path.open("wb") as target:
        for file in sources:
            with file.open("rb") as source:
                shutil.copyfileobj(source, target)
