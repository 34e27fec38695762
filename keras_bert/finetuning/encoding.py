"""Rows -> examples in files, which later runs with the same rows reuse.

The name of a file is a hash of what it was made from: the rows of its chunk,
the kind with its settings, the tokenizer, and our code. So a run finds the
files of an earlier run with the same input, even if that run was killed.

A file holds the examples of one chunk of rows, as safetensors: the values of
each tensor of `Examples`, such as `features/input_ids`, and the lengths of its
rows if the tensor is ragged. A checksum of four bytes follows.
"""

import collections
import concurrent.futures
import contextlib
import hashlib
import os
import pickle
import tempfile
import zlib
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import tensorflow as tf
from absl import logging
from safetensors import numpy as safetensors_numpy

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import shared_path
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import NumberedRows, in_chunks
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.network_calls import NUM_WINDOWS
from keras_bert.kinds.spec import spec_to_json
from keras_bert.progress import Progress
from keras_bert.tasks.base import Row

Arrays = dict[str, np.ndarray]
# TensorFlow encodes without Python's lock. But Python does a third of the work
# for short texts, so more threads would not help.
_MAX_THREADS = 4
_PICKLE = 5  # the protocol
_GROUPS = ("features", "labels", "weights")
_MAX_LEVELS = 2  # of a ragged tensor: choices or windows, and tokens


def encoded_folder(
    output_dir: str | Path, cache_dir: str | Path | None
) -> Path:
    """Returns the local folder for the encoded training set of a run.

    Raises InputError if the `cache_dir` is not local.
    """
    if cache_dir and is_remote(to_path(cache_dir)):
        raise InputError(
            f"The cache_dir {cache_dir} is not on this machine; give a local "
            "folder, from which the batches are read."
        )
    folder = to_path(cache_dir or output_dir)
    if is_remote(folder):
        # The names of the files distinguish the runs.
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "keras_bert" / "encoded"
    return folder if cache_dir else folder / "encoded"


def encode_rows(kind: Kind, rows: Iterable[Row], folder: Path) -> Examples:
    """Returns the examples of labeled rows, mapped from disk.

    Each chunk of rows gets a file in the folder, and is not encoded again while
    the file exists. A kind that is defined outside of this package gets no
    files, because the hash does not include the code of such a kind. Memory
    holds a few chunks at a time. Raises InputError if a row is wrong.
    """
    with (
        contextlib.closing(_encoded_chunks(kind, rows, folder)) as chunks,
        Progress("Encoding", unit="rows") as progress,
    ):
        return _map_examples(chunks, folder, progress)


def _encoded_chunks(
    kind: Kind, rows: Iterable[Row], folder: Path
) -> Generator[Arrays, None, None]:
    """Yields the arrays of each chunk, in order, while threads encode more."""
    is_ours = type(kind).__module__.partition(".")[0] == "keras_bert"
    key = _key(kind) if is_ours else None
    waiting: collections.deque = collections.deque()
    num_threads = min(_MAX_THREADS, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(num_threads) as executor:
        try:
            for chunk in in_chunks(rows):
                if len(waiting) > num_threads:
                    yield waiting.popleft().result()
                future = executor.submit(_encode, kind, chunk, folder, key)
                waiting.append(future)
            while waiting:
                yield waiting.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


def _encode(
    kind: Kind, rows: NumberedRows, folder: Path, key: bytes | None
) -> Arrays:
    """Returns the arrays of a chunk, from its file if the file exists.

    Without a key, no file is read or written.
    """
    path = None
    if key:
        # Different rows may print alike, but their pickles differ.
        digest = hashlib.blake2b(pickle.dumps(list(rows), _PICKLE), key=key)
        path = folder / f"{digest.hexdigest()[:32]}.examples"
        if arrays := read_arrays(path):
            return arrays
        if path.exists():
            logging.warning("%s is damaged, so it is written again.", path)
    examples = kind.encode(rows, labeled=True)
    examples.weights.update(kind.training_weights(examples.labels))
    arrays = _to_arrays(examples)
    if path:
        write_arrays(path, arrays)
    return arrays


def _to_arrays(examples: Examples) -> Arrays:
    arrays = {
        "rows": np.asarray(examples.rows, "int64"),
        "are_choices": np.array(examples.are_choices),
    }
    for group in _GROUPS:
        for key, tensor in getattr(examples, group).items():
            name = f"{group}/{key}"
            if isinstance(tensor, tf.RaggedTensor):
                for level, lengths in enumerate(tensor.nested_row_lengths()):
                    arrays[_lengths(level, name)] = lengths.numpy()
                tensor = tensor.flat_values
            arrays[name] = np.ascontiguousarray(tensor)
    return arrays


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Writes arrays to a file that appears when it is complete.

    Several processes may write the same file.
    """
    content = safetensors_numpy.save(arrays)
    with shared_path(path) as partial:
        partial.write_bytes(content + _checksum(content))


def read_arrays(path: Path) -> Arrays | None:
    """Returns the arrays of a file; None if the file is absent or damaged."""
    if not path.is_file():
        return None
    whole = path.read_bytes()
    content, checksum = whole[:-4], whole[-4:]
    if checksum != _checksum(content):
        return None
    return safetensors_numpy.load(content)


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


def _lengths(level: int, name: str) -> str:
    return f"lengths{level}/{name}"


def _key(kind: Kind) -> bytes:
    """Returns a hash of everything that determines how a row is encoded."""
    package = Path(__file__).parents[1]
    parts = (package / "kinds", package / "text")
    sources = [file for part in parts for file in sorted(part.rglob("*.py"))]
    digest = hashlib.blake2b(digest_size=32)
    for part in (
        spec_to_json(kind.spec),
        kind.tokenizer.rules,
        kind.tokenizer.settings,
        tf.__version__,
        kind.tokenizer.implementation,
        *(file.read_bytes() for file in sources),
    ):
        digest.update(pickle.dumps(part, _PICKLE))
    return digest.digest()


def _form(arrays: Arrays) -> dict[str, Any]:
    """Returns what the arrays of all files of a data set must have in common.

    For each array, they have the dtype and the shape without the first axis in
    common. The number of sequences per example must also be the same for
    choices, and the number of texts per example for texts in windows.
    """
    form: dict[str, Any] = {
        name: (array.dtype.name, array.shape[1:])
        for name, array in arrays.items()
    }
    if arrays["are_choices"]:
        lengths = arrays[_lengths(0, "features/input_ids")]
        form["choices"] = int(lengths[0])
    elif (name := f"features/{NUM_WINDOWS}") in arrays:
        form["texts"] = arrays[name].shape[1]
    return form


def _check_agree(
    first_form: Mapping[str, Any], form: Mapping[str, Any], number: int
) -> None:
    for name in {**first_form, **form}:
        if first_form.get(name) != form.get(name):
            raise InputError(
                f"From example {number} on, the {name} are {form.get(name)}, "
                f"but {first_form.get(name)} before. All rows must have the "
                "same number of choices or texts, and `encode` of a kind must "
                "return a ragged tensor where rows differ in size."
            )


def _map_examples(
    chunks: Iterable[Arrays], folder: Path, progress: Progress
) -> Examples:
    """Returns the examples of all chunks, mapped from a joined copy on disk.

    The copy consists of files without names in the folder, so it vanishes when
    the process ends.
    """
    num_rows = 0
    form: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:

        def new_file() -> IO[bytes]:
            # Only now, so that a wrong row leaves no folder.
            folder.mkdir(parents=True, exist_ok=True)
            return stack.enter_context(tempfile.TemporaryFile(dir=folder))

        files: dict = collections.defaultdict(new_file)
        arrays: Arrays = {}
        for arrays in chunks:
            form = form or _form(arrays)
            _check_agree(form, _form(arrays), num_rows + 1)
            arrays["rows"] = arrays["rows"] + num_rows
            end = int(arrays["rows"][-1]) + 1
            progress.update(end - num_rows)
            num_rows = end
            for name, array in arrays.items():
                files[name].write(array.tobytes())
        are_choices = bool(arrays.pop("are_choices"))
        mapped = {
            name: _map(files[name], array.dtype, array.shape[1:])
            for name, array in arrays.items()
        }
    groups: dict[str, Any] = {group: {} for group in _GROUPS}
    for name in mapped:
        group, _, key = name.partition("/")
        if group in groups:
            groups[group][key] = _ragged(name, mapped)
    return Examples(rows=mapped["rows"], are_choices=are_choices, **groups)


def _map(
    file: IO[bytes], dtype: np.dtype, shape: tuple[int, ...]
) -> np.ndarray:
    file.flush()
    size = file.tell() // (dtype.itemsize * int(np.prod(shape)))
    if not size:
        return np.zeros((0, *shape), dtype)
    # TensorFlow takes only writable arrays. Nothing writes to these arrays, and
    # with "c" (copy on write), nothing written would reach the file.
    return np.asarray(np.memmap(file, dtype, "c", shape=(size, *shape)))


def _ragged(name: str, mapped: Arrays) -> tf.RaggedTensor:
    # This tensor shares the memory of the array.
    values = tf.experimental.dlpack.from_dlpack(mapped[name].__dlpack__())
    levels = [_lengths(level, name) for level in range(_MAX_LEVELS)]
    return tf.RaggedTensor.from_nested_row_lengths(
        values, [mapped[x] for x in levels if x in mapped], validate=False
    )
