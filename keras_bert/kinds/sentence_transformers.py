"""Folders of sentence-transformers: the modules of a text's vector.

`modules.json` lists what turns a text into its vector, and the folder of each.
`sentence_bert_config.json`, beside the weights, may hold the longest sequence,
`1_Pooling/config.json` the pooling, and `config_sentence_transformers.json`
the prompts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.embedding.embedding import Embedding
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.kind import TaskSpec

_MODULES = "modules.json"
_PROMPTS = "config_sentence_transformers.json"
_TRANSFORMER = "sentence_bert_config.json"
_POOLING = "1_Pooling"
_OURS = (
    ["Transformer", "Pooling"],
    ["Transformer", "Pooling", "Normalize"],
)
_POOLINGS = ("cls", "max", "mean")
# The second one is for the similarity of two texts.
_TEXT_FIELDS = ("text", "other_text")
# The name of a pooling in releases before 6, in the order in which several
# poolings are joined.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def has_modules(folder: Path) -> bool:
    """Returns whether the weights in a folder are of sentence-transformers."""
    return _root(folder) is not None


def read_modules(folder: Path, bert_config: BertConfig) -> TaskSpec:
    """Returns the spec of the model whose weights are in a folder.

    Raises InputError if it has a module, a pooling or a prompt that this
    package does not have.
    """
    root = _root(folder)
    assert root is not None
    modules = _read_modules(root)
    names = [module["type"].rpartition(".")[2] for module in modules]
    if names not in _OURS:
        raise InputError(
            f"{root} has the modules {', '.join(names) or '(none)'}, but only "
            "Transformer and Pooling, with or without Normalize, can be read "
            "here; choose another model."
        )
    _check_prompt(root)
    settings = EmbeddingSettings(
        max_seq_length=_max_seq_length(folder, bert_config),
        pooling=_pooling(root / modules[1]["path"] / "config.json"),
        normalize="Normalize" in names,
    )
    return TaskSpec(Embedding.name, _TEXT_FIELDS, settings)


def module_files(
    settings: EmbeddingSettings, bert_config: BertConfig
) -> dict[str, str]:
    """Returns the text of the files to write beside the weights, by name.

    All releases of sentence-transformers read them. Raises InputError for a
    pooling that it does not have, and for windows.
    """
    if settings.pooling not in _POOLINGS:
        raise InputError(
            f"sentence-transformers has no pooling {settings.pooling!r}, only "
            f"{', '.join(_POOLINGS)}; keep the model in another format."
        )
    if settings.in_windows:
        raise InputError(
            f"window_pooling is {settings.window_pooling}, but "
            "sentence-transformers cuts a long text and cannot read it in "
            "windows; keep the model in another format."
        )
    names = _OURS[settings.normalize]
    folders = ("", *(f"{i}_{name}" for i, name in enumerate(names) if i))
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": folder,
            "type": f"sentence_transformers.models.{name}",
        }
        for i, (name, folder) in enumerate(zip(names, folders, strict=True))
    ]
    pooling = {flag: settings.pooling == name for flag, name in _FLAGS.items()}
    prompts: dict[str, Any] = {
        "prompts": {},
        "default_prompt_name": None,
        "similarity_fn_name": "cosine",
    }
    files: dict[str, Any] = {
        _MODULES: modules,
        _TRANSFORMER: {
            "max_seq_length": settings.max_seq_length,
            "do_lower_case": False,  # the tokenizer's own settings say it
        },
        f"{_POOLING}/config.json": {
            "word_embedding_dimension": bert_config.hidden_size,
            **pooling,
        },
        _PROMPTS: prompts,
    }
    if settings.normalize:
        files["2_Normalize/config.json"] = {}
    return {name: json.dumps(x, indent=2) + "\n" for name, x in files.items()}


def _root(folder):
    """Returns the folder with modules.json: that of the weights or above."""
    if (folder / _MODULES).is_file():
        return folder
    if (folder.parent / _MODULES).is_file():
        for module in _read_modules(folder.parent)[:1]:
            if module["path"] == folder.name:
                return folder.parent
    return None


def _max_seq_length(folder, bert_config):
    """Returns the length as sentence-transformers finds it."""
    for name, key in (
        (_TRANSFORMER, "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        values = _read(folder / name) if (folder / name).is_file() else {}
        if length := values.get(key):
            if not isinstance(length, (int, float)):
                raise InputError(
                    f"{key} in {folder / name} is {length!r}, but must be a "
                    "number; copy the file again."
                )
            # Without a limit, a tokenizer has 1e30.
            return int(min(length, bert_config.max_position_embeddings))
    return bert_config.max_position_embeddings


def _pooling(file):
    values = _read(file)
    flags = [name for flag, name in _FLAGS.items() if values.get(flag)]
    found = values.get("pooling_mode", flags or "mean")
    names = found if isinstance(found, list) else [found]
    if len(names) != 1 or names[0] not in _POOLINGS:
        raise InputError(
            f"{file} asks for the pooling {' and '.join(map(str, names))}, but "
            f"it must be one of {', '.join(_POOLINGS)}; choose another model."
        )
    return names[0]


def _check_prompt(root):
    file = root / _PROMPTS
    values = _read(file) if file.is_file() else {}
    name = values.get("default_prompt_name")
    if name and (prompt := values.get("prompts", {}).get(name)):
        raise InputError(
            f"{file} puts the prompt {prompt!r} before each text, which this "
            "package does not do; choose another model."
        )


def _read_modules(root):
    """Returns the modules of a folder, each with its type and its path."""
    modules = _read(root / _MODULES, list)
    for module in modules:
        if not (isinstance(module, dict) and {"type", "path"} <= set(module)):
            raise InputError(
                f"{root / _MODULES} has the module {module!r}, but a module "
                "must have a type and a path; copy the file again."
            )
    return modules


def _read(file, of_type=dict):
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; copy the whole folder of the model again."
        )
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{file} is not JSON ({error}); copy it again."
        ) from error
    if not isinstance(values, of_type):
        what = "an object" if of_type is dict else "a list"
        raise InputError(f"{file} is not {what}; copy it again.")
    return values
