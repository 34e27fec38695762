"""A file of weights in any format -> arrays keyed by our weight paths."""

import contextlib
import functools
import hashlib
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import h5py
import numpy as np
import safetensors

from keras_bert.checkpoints.find import find_weights, local_weights, shards
from keras_bert.checkpoints.google import from_google
from keras_bert.checkpoints.huggingface import from_huggingface, is_huggingface
from keras_bert.checkpoints.keras_files import read_keras
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.quantized import SCALES, dequantize
from keras_bert.errors import InputError
from keras_bert.family_configs import as_of_bert, translate_huggingface
from keras_bert.io.safetensors_file import write_arrays
from keras_bert.io.whole_files import full_disk_named, read_json

# The path of a dataset in an H5 file is LAYER/MODEL_CLASS/MODULE/WEIGHT:0. In a
# file with a language-model head, several layers contain the shared embeddings.
_DATASET = re.compile(
    r"[^/]+/tf_[^/]+/(?P<module>.+)/"
    r"(?P<weight>beta|bias|embeddings|gamma|kernel|weight):0"
)

# The beginnings of safetensors' names for types with at most 8 bits.
_FEW_BITS = ("I8", "U8", "F4", "F6_", "F8_")


def read_file(file: Path) -> Arrays:
    """Returns a weight file's arrays, keyed by our weight paths.

    `file` is a path from `find_weights`. If the arrays have Hugging Face's
    names, the config.json beside the file is read too. Our own LoRA adapters
    are returned as they are, not merged.
    """
    stored = read_arrays(file)
    if _reader(file) is _read_tensorflow:
        return from_google(stored, str(file))
    if not is_huggingface(stored):
        return stored
    if (adapters := file.parent / "adapter_config.json").is_file():
        raise InputError(
            f"{adapters} belongs to peft adapters, which this package cannot "
            "read; merge them with peft's merge_and_unload, and save the model."
        )
    values = read_json(file.parent / "config.json", is_needed=False)
    # Raises an error if this package does not have such a network.
    family = translate_huggingface(values)["family"]
    names = values.get("architectures") or ()
    architectures = [as_of_bert(str(name)) for name in names]
    return from_huggingface(stored, str(file), family, architectures)


def is_huggingface_file(file: Path) -> bool:
    """Returns whether the weights of a file have Hugging Face's names."""
    reader = _reader(file)
    if reader is read_safetensors:
        return is_huggingface(read_arrays(file))
    return reader in (read_h5, read_pytorch)


def read_arrays(file: Path) -> Arrays:
    """Returns a weight file's arrays, keyed by their names in the file.

    `file` is a path from `find_weights`. Raises InputError if two shards have
    different values for one name. Reading an array with an infinity or a NaN
    raises InputError.
    """
    stored: Arrays = {}
    for part in shards(local_weights(file)):
        for name, array in _reader(file)(part).items():
            if not array.equals(stored.setdefault(name, array)):
                raise InputError(
                    f"{part} and another file of {file} have different values "
                    f"for {name}; copy the checkpoint again."
                )
    return {name: array.finite(name, file) for name, array in stored.items()}


def fingerprint_of(checkpoint: str | Path) -> str:
    """Returns a hash of a checkpoint's weights, the same for every format."""
    arrays = read_file(find_weights(checkpoint))
    return hash_arrays(arrays, arrays)


def hash_arrays(arrays: Arrays, paths: Iterable[str], before: str = "") -> str:
    """Returns a hash of the string `before` and the arrays at the `paths`.

    The arrays are hashed in float32, sorted by path.
    """
    digest = hashlib.blake2b(before.encode(), digest_size=16)
    for path in sorted(paths):
        array = np.ascontiguousarray(arrays[path].read(), "<f4")
        digest.update(f"{path} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def read_safetensors(file: Path) -> Arrays:
    """Returns the arrays of a `.safetensors` file, keyed by name.

    Raises InputError if the file is damaged, or if another package quantized
    its weights.
    """
    try:
        # By default, safe_open maps the file into memory, which then holds both
        # the file and the arrays.
        opened = safetensors.safe_open(file, framework="np", backend="pread")
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{file} is not a complete safetensors file ({error}); copy it "
            "again, or train the model again."
        ) from error
    slices = {x: opened.get_slice(x) for x in list(opened.keys())}
    stored = {
        name: StoredArray(
            tuple(part.get_shape()), functools.partial(opened.get_tensor, name)
        )
        for name, part in slices.items()
    }
    for name, part in slices.items():
        dtype = part.get_dtype()
        is_ours = any(name + x in stored for x in SCALES)
        if dtype.startswith(_FEW_BITS) and not (is_ours and dtype[0] in "IU"):
            raise InputError(
                f"{file} stores {name} as {dtype}, because another package "
                "quantized it; give the checkpoint that is not quantized."
            )
    return dequantize(stored, str(file))


def write_safetensors(file: Path, stored: Arrays) -> None:
    """Writes arrays as float32, but integers from `quantize` as they are.

    Raises OSError if the disk is full.
    """
    arrays = {}
    for name, stored_array in stored.items():
        array = stored_array.read()
        is_quantized = array.dtype in (np.int8, np.uint8)
        dtype = None if is_quantized else np.float32
        arrays[name] = np.ascontiguousarray(array, dtype)
    with full_disk_named(file, safetensors.SafetensorError):
        write_arrays(file, arrays)


def read_pytorch(file: Path) -> Arrays:
    """Returns the tensors of a PyTorch `.bin` file, keyed by name.

    The file is a pickle, and a pickle can call any function when it is loaded.
    So torch is told to load only tensors and plain containers.

    Raises InputError if the file is damaged or contains anything else, or if
    torch is not installed or older than 2.6.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise InputError(
            f"{file} is a PyTorch file, which only torch reads; run pip "
            "install 'keras-bert-tf[torch]', or get the weights as safetensors."
        ) from error
    # Before torch 2.6, a file could run code in spite of weights_only=True
    # (CVE-2025-32434).
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise InputError(
            f"torch {torch.__version__} cannot read {file} safely; install "
            "torch 2.6 or later, or get the weights as safetensors."
        )
    try:
        # torch does not verify the zip file's checksums.
        if zipfile.is_zipfile(file) and zipfile.ZipFile(file).testzip():
            raise ValueError("A checksum is wrong.")
        tensors = torch.load(file, map_location="cpu", weights_only=True)
        return {
            name: StoredArray(tuple(x.shape), x.detach().float().numpy)
            for name, x in tensors.items()
        }
    # torch's errors are long, and advise running the file's code.
    except Exception:
        raise InputError(
            f"{file} is damaged, or contains objects other than tensors; copy "
            "it again, or get the weights as safetensors."
        ) from None


def read_h5(file: Path) -> Arrays:
    """Returns the arrays of a `tf_model.h5`, keyed by their PyTorch names.

    The file was written by one of transformers' TensorFlow classes, which
    release 5 removed. An array's PyTorch name is the name of the same weight in
    transformers' PyTorch classes.

    Raises InputError if the file is damaged or another program wrote it.
    """
    stored: Arrays = {}
    most = file.stat().st_size
    with _opened(file) as opened:
        paths: list[str] = []
        opened.visit(paths.append)
        for path in paths:
            dataset = opened[path]
            if not isinstance(dataset, h5py.Dataset):
                continue
            match = _DATASET.fullmatch(path)
            # A damaged shape can ask for any amount of memory.
            if not match or dataset.dtype.kind != "f" or dataset.nbytes > most:
                raise ValueError(f"{path!r} is not a weight")
            read = functools.partial(_read, file, path)
            array = StoredArray(dataset.shape, read)
            if match["weight"] == "kernel":  # PyTorch stores [units, inputs]
                array = array.transposed
            kind = "bias" if match["weight"] in ("beta", "bias") else "weight"
            name = f"{_module(match['module'])}.{kind}"
            if not array.equals(stored.setdefault(name, array)):
                raise ValueError(f"{path!r} differs from its copy")
    return stored


def _module(path: str) -> str:
    """Returns a module's PyTorch name.

    For bert/encoder/layer_._0/output, it is bert.encoder.layer.0.output.
    """
    path = re.sub(r"_\._(\d+)", r".\1", path)
    # `mlm___cls` and `nsp___cls` are both the module `cls`.
    return re.sub(r"^\w+___", "", path).replace("/", ".")


def _read(file: Path, path: str) -> np.ndarray:
    with _opened(file) as opened:
        return opened[path][()]


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[h5py.File]:
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except Exception as error:  # damage makes h5py raise any error
        reason = " ".join(str(error).split())
        raise InputError(
            f"{file} is not a complete transformers tf_model.h5 ({reason}); "
            "copy it again."
        ) from error


def _read_tensorflow(prefix: Path) -> Arrays:
    try:
        from keras_bert.checkpoints.tensorflow_files import read_tensorflow
    except ModuleNotFoundError as error:
        raise InputError(
            f"{prefix} is a TensorFlow checkpoint, which only TensorFlow "
            "can read; run pip install tensorflow."
        ) from error
    return read_tensorflow(prefix)


_READERS = {
    ".bin": read_pytorch,
    ".h5": read_h5,
    ".keras": read_keras,
    ".safetensors": read_safetensors,
}


def _reader(file: Path) -> Callable[[Path], Arrays]:
    ending = Path(file.name.removesuffix(".index.json")).suffix
    return _READERS.get(ending, _read_tensorflow)
