"""A path, a URL or a name -> the file of its weights."""

import functools
import importlib.util
import re
from pathlib import Path

from keras_bert.errors import InputError, first_line
from keras_bert.io.folders import MARKER, local_copy
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import is_whole, read_json, whole_folder

# The first of these that exists is read.
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "tf_model.h5",
)
_FILES = (".safetensors", ".bin", ".h5", ".keras", ".index.json")
# What follows the prefix in the names of a TensorFlow checkpoint's files.
_OF_TENSORFLOW = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
SCHEME = "hf://"
# The first of these that a repository contains is downloaded.
_WEIGHTS_ON_HUB = ("model*.safetensors*", "pytorch_model*.bin*", "tf_model.h5")
# The other files to download. sentence-transformers keeps the files of a module
# in a folder, such as 2_Dense. Before 2021, this included the network's files.
_BESIDE = (
    *"*config*.json modules.json task.json tokenizer.json vocab.txt".split(),
    *"merges.txt sentencepiece.bpe.model vocab.json".split(),
    *"added_tokens.json special_tokens_map.json [0-9]*_*/*".split(),
)
# The models that come with the package, in folders beside this file.
SHIPPED = "mini_en", "mini_ko_en"
# The beginning of a model package's name, such as keras_bert_tf_mini_en_base.
_MODEL_PACKAGE = "keras_bert_tf_"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def find_weights(checkpoint: str | Path) -> Path:
    """Returns the file with the weights of a checkpoint.

    For a TensorFlow checkpoint, returns the prefix of the checkpoint's files.
    Raises FileNotFoundError if there is no checkpoint.
    """
    if checkpoint is None:
        raise InputError(
            f"There is no checkpoint; give a path, {SCHEME}owner/name or "
            f"{' or '.join(SHIPPED)}, the models in this package."
        )
    if str(checkpoint).startswith(SCHEME):
        checkpoint = download(str(checkpoint))
    path = shipped_folder(checkpoint) or to_path(checkpoint)
    if path.is_file() and path.name.endswith(_FILES):
        return path
    if path.name:
        path = path.with_name(_OF_TENSORFLOW.sub("", path.name))
        if path.with_name(f"{path.name}.index").is_file():
            return path
        path = whole_folder(path)
    for folder in (*_weight_folders(path), whole_folder(path / "best")):
        for name in _WEIGHTS:
            if (folder / name).is_file() and is_whole(folder):
                return folder / name
    prefixes = sorted(path.glob("*ckpt*.index")) if is_whole(path) else []
    if len(prefixes) == 1:
        return prefixes[0].with_suffix("")
    steps = (path / "checkpoints").glob("step-" + 8 * "[0-9]")
    if whole := sorted(filter(is_whole, steps)):
        return whole[-1] / _WEIGHTS[0]
    if prefixes:
        raise FileNotFoundError(
            f"{path} contains {len(prefixes)} checkpoints; give the prefix of "
            f"one of them, such as {prefixes[-1].with_suffix('')}."
        )
    hint = ""
    if str(checkpoint) == "mini_en_base":
        hint = (
            f" {path} is in the package {_MODEL_PACKAGE}{path}; install it "
            "from the repository."
        )
    if (path / "adapter_config.json").is_file():
        hint = (
            " The folder has peft adapters without their base model; merge "
            "them with peft's merge_and_unload, and save the model."
        )
    if _HUB_NAME.fullmatch(str(checkpoint)) and not path.parent.exists():
        hint = f" For the Hub model, write {SCHEME}{checkpoint}."
    raise FileNotFoundError(
        f"No checkpoint at {path}; give a folder with {_WEIGHTS[0]} or "
        f"bert_model.ckpt, the output_dir of a run, {SCHEME}owner/name, or "
        f"{' or '.join(SHIPPED)}, the models in this package. A folder with "
        f"{MARKER} is incomplete.{hint}"
    )


def _weight_folders(path: Path) -> tuple[Path, Path]:
    """Returns the folders that can hold the weights: `path` and a folder in it.

    Before 2021, sentence-transformers kept the network's weights in the folder
    of its module. If modules.json names this folder, it comes first. Raises
    InputError if the network is not a Transformer.
    """
    modules = read_json(path / "modules.json", list, is_needed=False)
    first = modules[0] if modules and isinstance(modules[0], dict) else {}
    name = str(first.get("type", "Transformer"))
    if not name.endswith(("Transformer", "BERT")):
        raise InputError(
            f"{path} is a sentence-transformers model whose network is {name}, "
            "but this package reads only Transformer; choose another model."
        )
    inner = path / str(first.get("path", "0_Transformer"))
    return (inner, path) if first else (path, inner)


@functools.cache  # a run asks for the same address several times
def download(url: str) -> Path:
    """Downloads weights, config and vocabulary; returns their folder.

    Files go to the cache of huggingface_hub and are downloaded once. The
    environment variables HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE and HF_TOKEN
    apply.

    Args:
        url: An address such as "hf://google-bert/bert-base-uncased". A branch,
            tag or commit can follow: "hf://google-bert/bert-base-uncased@main".

    Raises:
        OSError: If the download fails.
    """
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise InputError(
            f"{url} is on the Hugging Face Hub, and huggingface_hub is not "
            "installed; run pip install 'keras-bert-tf[hub]'."
        ) from error
    name, _, revision = url.removeprefix(SCHEME).partition("@")
    for weights in _WEIGHTS_ON_HUB:
        try:
            folder = huggingface_hub.snapshot_download(
                name,
                revision=revision or None,
                allow_patterns=[*_BESIDE, weights],
            )
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise OSError(
                f"Cannot get {url} ({first_line(error)}); check the "
                "name, the connection and HF_ENDPOINT, or give a folder."
            ) from error
        if any(any(x.glob(weights)) for x in _weight_folders(Path(folder))):
            return Path(folder)
    raise FileNotFoundError(
        f"{url} has no model.safetensors, pytorch_model.bin or tf_model.h5; "
        "choose another model."
    )


def shipped_folder(checkpoint: str | Path) -> Path | None:
    """Returns the folder of the installed model with a name such as "mini_en".

    Returns None if no such model is installed. Also returns None if the working
    directory contains a file or folder with the name, which takes precedence.
    """
    name = str(checkpoint)
    if not name.isidentifier() or Path(name).exists():
        return None
    if name in SHIPPED:
        return Path(__file__).parent / name
    package = importlib.util.find_spec(_MODEL_PACKAGE + name)
    return Path(package.origin).parent if package and package.origin else None


def local_weights(file: Path) -> Path:
    """Returns the local path of a file from `find_weights`.

    If the file is on a store, the file is copied first, and the path of the
    copy is returned.
    """
    if file.is_file():
        names = {file.name, *(part.name for part in shards(file))}
    else:
        names = {path.name for path in file.parent.glob(f"{file.name}.*")}
    return local_copy(file.parent, sorted(names)) / file.name


def shards(file: Path) -> list[Path]:
    """Returns the files that an `.index.json` lists; [file] for other files."""
    if not file.name.endswith(".index.json"):
        return [file]
    names = read_json(file).get("weight_map")
    if not isinstance(names, dict) or not all(
        isinstance(name, str) for name in names.values()
    ):
        raise InputError(
            f"{file} has no weight_map from names to files; copy it again."
        )
    return [file.parent / name for name in sorted({*names.values()})]


def check_output_dir(output_dir: str | Path) -> None:
    """Raises InputError if a run cannot write to `output_dir`.

    `output_dir` must be neither a file nor a path below a file. It must not
    directly contain weights, because `find_weights` would find these weights
    instead of the run's weights, which are in subfolders.
    """
    folder = to_path(output_dir)
    for path in (folder, *folder.parents):
        if not is_remote(path) and path.is_file():
            raise InputError(
                f"The output_dir is {folder}, but {path} is a file; give a "
                "folder."
            )
    names = [name for name in _WEIGHTS if (folder / name).is_file()]
    names += [path.name for path in folder.glob("*ckpt*.index")]
    if names:
        raise InputError(
            f"The output_dir {folder} contains {names[0]}, which would be "
            "mistaken for the result of the run; give another folder."
        )
