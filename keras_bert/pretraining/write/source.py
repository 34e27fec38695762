"""Where text comes from, as a few names that a command line can give."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from keras_bert.errors import InputError
from keras_bert.pretraining.write.source_to_lines import (
    expand_globs,
    read_jsonl,
    read_lines,
    read_tfds,
    read_whole_files,
)


@dataclasses.dataclass(frozen=True)
class TextSource:
    """Text of files, or of a data set of tensorflow-datasets.

    Attributes:
        input_file: Text files, plain or .gz; comma-separated names or globs.
            One sentence a line and a blank line between documents, if nothing
            else is said.
        document_per_file: Whether each file is one document, whose blank
            lines are between paragraphs.
        text_field: The field of JSON lines, or of a data set, that holds a
            document.
        tfds_name: A data set instead of files, such as wikipedia/20230601.en.
        tfds_split: Which part of it.
    """

    input_file: str = ""
    document_per_file: bool = False
    text_field: str = ""
    tfds_name: str = ""
    tfds_split: str = "train"

    def __post_init__(self):
        if bool(self.input_file) == bool(self.tfds_name):
            raise InputError(
                "Give either an input_file or a tfds_name, to read text from."
            )
        if self.tfds_name and not self.text_field:
            raise InputError(
                f"Give the text_field of {self.tfds_name} that holds the text."
            )
        if self.document_per_file and self.text_field:
            raise InputError(
                "With a text_field each text is a document; document_per_file "
                "is for files of plain text."
            )

    def lines(self) -> Iterator[str]:
        """Yields lines, with a blank one between documents."""
        if self.tfds_name:
            return read_tfds(self.tfds_name, self.text_field, self.tfds_split)
        files = expand_globs(self.input_file)
        if self.text_field:
            return read_jsonl(files, self.text_field)
        if self.document_per_file:
            return read_whole_files(files)
        return read_lines(files)
