"""Files of vectors: their parts, and how the parts become one file."""

from __future__ import annotations

import functools
import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import check_is_not_folder

_EMBEDDING = "embedding"  # the column of vectors


class VectorFormat(NamedTuple):
    """A format of files with vectors.

    Attributes:
        part: Texts, and their vectors, float32 [N, D], -> the bytes of a part.
        join: Writes the file of its parts. Takes them, opened, the opened
            file, and the `shape` of all vectors.
    """

    part: Callable[[Sequence[str], np.ndarray], bytes]
    join: Callable[..., None]


def get_format(path: str | Path, text_column: str) -> VectorFormat:
    """Returns the format that the suffix of a file names.

    `.npy` holds float32 [N, D], which `np.load(path, mmap_mode="r")` reads
    without loading it. `.parquet` holds the texts and the column `embedding`.

    Raises:
        IsADirectoryError: If `path` is a folder.
        InputError: If the suffix is another one, or pyarrow is missing.
    """
    check_is_not_folder(path)
    suffix = to_path(path).suffix
    if suffix == ".npy":
        return VectorFormat(_npy_part, _join_npy)
    if suffix != ".parquet":
        raise InputError(
            f"The output file {path} must end with .npy or .parquet."
        )
    if text_column == _EMBEDDING:
        raise InputError(
            f"The field {_EMBEDDING!r} has the name of the column of vectors; "
            "write .npy, or rename the field."
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            "Parquet files need pyarrow; pip install 'keras-bert-tf[parquet]'."
        ) from error
    part = functools.partial(_parquet_part, text_column=text_column)
    return VectorFormat(part, _join_parquet)


def _npy_part(texts, vectors):
    return np.ascontiguousarray(vectors, "<f4").tobytes()


def _join_npy(parts, whole, shape):
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(whole, header)
    for part in parts:
        shutil.copyfileobj(part, whole)


def _parquet_part(texts, vectors, *, text_column):
    import pyarrow
    from pyarrow.parquet import write_table

    size = vectors.shape[1]
    numbers = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
    table = pyarrow.table(
        {
            text_column: pyarrow.array(texts, pyarrow.string()),
            _EMBEDDING: pyarrow.FixedSizeListArray.from_arrays(numbers, size),
        }
    )
    file = io.BytesIO()
    write_table(table, file)
    return file.getvalue()


def _join_parquet(parts, whole, shape):
    from pyarrow.parquet import ParquetWriter, read_table

    writer = None
    for part in parts:
        table = read_table(io.BytesIO(part.read()))
        if writer is None:
            writer = ParquetWriter(whole, table.schema)
        writer.write_table(table)
    writer.close()
