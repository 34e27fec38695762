"""sentence-transformers folders: their files, and the Dense weights.

The tables in this module list every key of these files in releases 2 to 6 of
sentence-transformers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.read import read_arrays, write_safetensors
from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json

MODULES_FILE = "modules.json"
CONFIG_FILE = "config_sentence_transformers.json"
TRANSFORMER_FILE = "sentence_bert_config.json"
# The first of these that exists is read.
_TRANSFORMER_FILES = [
    f"sentence_{name}_config.json"
    for name in "bert roberta distilbert camembert albert xlm-roberta "
    "xlnet".split()
]
# The values that a key may have, the default first; None for any value.
Known = Mapping[str, Sequence | None]
CONFIG: Known = {
    "__version__": None,
    "model_type": ("SentenceTransformer",),
    "prompts": None,
    "default_prompt_name": None,
    "similarity_fn_name": ("cosine", "dot"),
    "truncate_dim": None,
    "activation_fn": (None,),
    "requirements": None,  # the versions of packages
}
_CROSS_ENCODER: Known = {
    **CONFIG,
    "model_type": ("CrossEncoder",),
    "similarity_fn_name": (None,),
    "truncate_dim": (None,),
    "activation_fn": None,
    "keep_in_fp32_modules": None,  # here, all modules compute in float32
}
# Options for PyTorch that change no result. They are in `model_args` and in
# other keys that end with "args".
_OPTIONS = (
    "add_pooling_layer attn_implementation device_map dtype low_cpu_mem_usage "
    "torch_dtype trust_remote_code use_safetensors"
).split()
# Task -> the name of the network's output, and of the Transformer module's
# output.
_MODULE_OUTPUTS = {
    "feature-extraction": ("last_hidden_state", "token_embeddings"),
    "sequence-classification": ("logits", "scores"),
}
_KERNEL, _BIAS = "linear.weight", "linear.bias"


def modules_folder(folder: Path) -> Path | None:
    """Returns the folder with modules.json: `folder`, one above it, or None."""
    if (folder / MODULES_FILE).is_file():
        return folder
    for root in (folder.parent, folder.parent.parent):
        if (root / MODULES_FILE).is_file():
            for module in read_modules_file(root)[:1]:
                if root / module["path"] == folder:
                    return root
    return None


def read_modules_file(root: Path) -> list[dict[str, Any]]:
    """Returns the modules of a folder, each with its type and its path."""
    modules = read_json(root / MODULES_FILE, list)
    for module in modules:
        if not isinstance(module, dict) or not all(
            isinstance(module.get(x), str) for x in ("type", "path")
        ):
            raise InputError(
                f"{root / MODULES_FILE} has the module {module!r}, but a "
                "module must have a type and a path; copy the file again."
            )
    return modules


def module_class(module: dict[str, Any]) -> str:
    """Returns the class of a module, such as "Pooling".

    If the class is from another library, its full name is returned.
    """
    library, _, name = module["type"].partition(".")
    is_known = library == "sentence_transformers"
    name = name.rpartition(".")[2] if is_known else module["type"]
    return "Transformer" if name == "BERT" else name  # "BERT" until 2020


def read_known(
    file: Path, known: Known, *, is_needed: bool = False
) -> dict[str, Any]:
    """Returns the values of all `known` keys, from a JSON file or the defaults.

    Raises InputError if the file has a key or a value that is not known.
    """
    values = read_json(file, is_needed=is_needed)
    known_values = {name: x[0] if x else None for name, x in known.items()}
    for name, value in values.items():
        choices = known.get(name, (None,))
        if name.endswith("args") and isinstance(value, dict):
            value = {x: value[x] for x in value if x not in _OPTIONS} or None
        if value is None:
            continue
        if choices is not None and value not in choices:
            only = " or ".join(repr(x) for x in choices if x is not None)
            raise InputError(
                f"{file} has {name}: {value!r:.200}, but this package reads "
                f"only {only or 'files without it'}; choose another model."
            )
        known_values[name] = value
    return known_values


def is_cross_encoder(root: Path) -> bool:
    """Returns whether a folder with modules.json holds a CrossEncoder."""
    values = read_json(root / CONFIG_FILE, is_needed=False)
    return values.get("model_type") == "CrossEncoder"


def read_cross_encoder(root: Path) -> dict[str, Any]:
    """Returns the config of a CrossEncoder, with defaults for missing values.

    Raises InputError if the CrossEncoder has modules besides the network.
    """
    if (root / MODULES_FILE).is_file():
        names = [module_class(x) for x in read_modules_file(root)]
        if names != ["Transformer"]:
            raise InputError(
                f"{root} is a CrossEncoder with the modules "
                f"{', '.join(names) or '(none)'}, but this package reads only "
                "the single module Transformer; choose another model."
            )
    return read_known(root / CONFIG_FILE, _CROSS_ENCODER)


def transformer_file(folder: Path) -> Path:
    """Returns the path of the network's settings beside the weights.

    The file may not exist. Old releases of sentence-transformers named the file
    after the network's family.
    """
    files = [folder / name for name in _TRANSFORMER_FILES]
    return next((file for file in files if file.is_file()), files[0])


def read_max_seq_length(folder: Path, task: str) -> Any:
    """Returns the `max_seq_length` in the `transformer_file`, or None.

    Raises InputError if the network is for a task other than `task`, or if the
    file has an unknown option.
    """
    output, module_output = _MODULE_OUTPUTS[task]
    of_text = {"text": {"method": "forward", "method_output_name": output}}
    known: Known = {
        "max_seq_length": None,
        "do_lower_case": None,  # the tokenizer applies it
        "unpad_inputs": None,
        "transformer_task": (task,),
        "modality_config": (of_text,),
        "module_output_name": (module_output,),
    }
    return read_known(transformer_file(folder), known)["max_seq_length"]


def read_dense_modules(folder: Path) -> Arrays:
    """Returns the weights of a model's Dense modules, keyed by our paths.

    `folder` is the folder with the weights of the model's network. The first
    module becomes the layer `dense_0` of `build_embedder`, the second becomes
    `dense_1`, and so on, so a path is "dense_0/kernel", for example. A module
    without a bias gets a bias of zeros.

    Raises:
        FileNotFoundError: If the weights file of a module is missing.
        InputError: If the file of a module has no kernel, or has weights other
            than a kernel and a bias.
    """
    arrays = {}
    for i, module in enumerate(_dense_folders(folder)):
        file = find_weights(module)
        stored = read_arrays(file)
        if not {_KERNEL} <= set(stored) <= {_KERNEL, _BIAS}:
            raise InputError(
                f"{file} has the weights {', '.join(stored)}, but a Dense "
                f"module has {_KERNEL} and {_BIAS}; choose another model."
            )
        kernel = stored[_KERNEL].transposed
        arrays[f"dense_{i}/kernel"] = kernel
        arrays[f"dense_{i}/bias"] = stored.get(_BIAS) or _zeros(kernel)
    return arrays


def write_dense_modules(folder: Path, arrays: Arrays) -> None:
    """Writes the weights of the layers `dense_0`, `dense_1` and so on.

    Each layer's weights go into the folder of its Dense module, as modules.json
    lists it. Raises InputError if there are no weights for one of the modules.
    """
    for i, module in enumerate(_dense_folders(folder)):
        if f"dense_{i}/kernel" not in arrays:
            raise InputError(
                f"The checkpoint has no weights for the layer dense_{i}; train "
                "the layer first, or leave out the setting dense."
            )
        stored = {
            _KERNEL: arrays[f"dense_{i}/kernel"].transposed,
            _BIAS: arrays[f"dense_{i}/bias"],
        }
        write_safetensors(module / "model.safetensors", stored)


def _dense_folders(folder: Path) -> list[Path]:
    root = modules_folder(folder)
    modules = read_modules_file(root) if root else []
    return [root / x["path"] for x in modules if module_class(x) == "Dense"]


def _zeros(kernel: StoredArray) -> StoredArray:
    size = kernel.shape[1:]
    return StoredArray(size, lambda: np.zeros(size, "float32"))
