"""Where text comes from, as settings that a command line can give."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs
from keras_bert.pretraining.write.files_to_units import group_files
from keras_bert.pretraining.write.source_to_lines import (
    read_jsonl,
    read_lines,
    read_tfds,
    read_whole_files,
)


@dataclasses.dataclass(frozen=True)
class TextSource:
    """Text of files, or of a data set of tensorflow-datasets.

    Example:
        >>> source = keras_bert.pretraining.TextSource("corpus.txt")
        >>> next(source.lines())
        'the fox jumped over a dog .'

    Attributes:
        input_file: Text files, plain or .gz, as comma-separated names or
            globs. By default they hold one sentence a line and a blank line
            between documents.
        document_per_file: Whether each file is one document, in which blank
            lines separate paragraphs.
        text_field: The field that holds a document, in a data set or in files
            of one JSON object a line.
        tfds_name: A data set to read instead of files, such as
            wikipedia/20230601.en.
        tfds_split: The split of the data set.
    """

    input_file: str = ""
    document_per_file: bool = False
    text_field: str = ""
    tfds_name: str = ""
    tfds_split: str = "train"

    def __post_init__(self):
        if bool(self.input_file) == bool(self.tfds_name):
            raise InputError(
                "Give either an input_file or a tfds_name to read text from."
            )
        if self.tfds_name and not self.text_field:
            raise InputError(
                f"Give the text_field of {self.tfds_name} that holds the text."
            )
        if self.document_per_file and self.text_field:
            raise InputError(
                "With a text_field each text is a document, and "
                "document_per_file is for files of plain text; give one of "
                "the two."
            )

    def lines(self) -> Iterator[str]:
        """Yields the lines of the text, with a blank line between documents."""
        return itertools.chain.from_iterable(read() for read in self.units())

    def units(self) -> list[Callable[[], Iterator[str]]]:
        """Returns a function for each unit of the text that yields its lines.

        A unit is a large file, several small ones, or a data set. Other
        processes can get these functions.
        """
        read: Callable[..., Iterator[str]]
        if self.tfds_name:
            return [
                functools.partial(
                    read_tfds, self.tfds_name, self.text_field, self.tfds_split
                )
            ]
        if self.text_field:
            read = functools.partial(read_jsonl, text_field=self.text_field)
        elif self.document_per_file:
            read = read_whole_files
        else:
            read = read_lines
        files = expand_globs(self.input_file)
        for file in files:
            if ".jsonl" in Path(file).suffixes and not self.text_field:
                raise InputError(
                    f"{file} is not plain text by its name; set text_field to "
                    "the field that holds the text."
                )
        return [functools.partial(read, unit) for unit in group_files(files)]
