"""Reads and writes the modules of a sentence-transformers folder.

`modules.json` lists the modules that turn a text into its vector, and the
folder of each module. `sentence_bert_config.json`, beside the weights, may
hold the maximum sequence length. `1_Pooling/config.json` holds the pooling,
`2_Dense` may hold a layer after the pooling, and
`config_sentence_transformers.json` holds the prompts and the similarity.
"""

import dataclasses
from pathlib import Path
from typing import Any

from keras_bert.checkpoints import sentence_transformers
from keras_bert.checkpoints.sentence_transformers import read_known
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.whole_files import to_json
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.hub_config import HubConfig

_POOLINGS = ("cls", "max", "mean")
# Releases before 6 have a flag for each pooling.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
}
_POOLING = {
    "word_embedding_dimension": None,
    "embedding_dimension": None,
    "include_prompt": (True, False),
    "pooling_mode": None,
    **dict.fromkeys(_FLAGS),
    "pooling_mode_mean_sqrt_len_tokens": None,
    "pooling_mode_weightedmean_tokens": None,
    "pooling_mode_lasttoken": None,
}
_INPUT_AND_OUTPUT: dict[str, tuple | None] = dict.fromkeys(
    ("module_input_name", "module_output_name"), ("sentence_embedding",)
)
# The first activation is the library's default.
_ACTIVATIONS = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "linear": "torch.nn.modules.linear.Identity",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu_erf": "torch.nn.modules.activation.GELU",
}


def read_settings(config: HubConfig, bert_config: BertConfig) -> dict[str, Any]:
    """Returns the settings of a sentence-transformers model from its files.

    Raises InputError if the model has a module or a setting that this package
    does not have.
    """
    root = sentence_transformers.modules_folder(config.folder)
    assert root is not None
    file = root / sentence_transformers.CONFIG_FILE
    values = read_known(file, sentence_transformers.CONFIG)
    modules = sentence_transformers.read_modules_file(root)
    names = [sentence_transformers.module_class(module) for module in modules]
    num_dense = names.count("Dense")
    ours = ["Transformer", "Pooling"] + num_dense * ["Dense"]
    if names not in (ours, [*ours, "Normalize"]):
        raise InputError(
            f"{root} has the modules {', '.join(names) or '(none)'}, but only "
            "Transformer, Pooling, any number of Dense, and Normalize, in this "
            "order, can be read here; choose another model."
        )
    _, pooling, *more = (root / x["path"] / "config.json" for x in modules)
    if "Normalize" in names:
        read_known(more[-1], _INPUT_AND_OUTPUT)
    if size := values["truncate_dim"]:
        raise InputError(
            f"{file} truncates the vectors: it has truncate_dim {size!r}; "
            "remove truncate_dim from the file, and give "
            f"dimensions={size!r} to load_embedder."
        )
    settings = EmbeddingSettings(
        max_seq_length=config.max_seq_length(bert_config, "feature-extraction"),
        pooling=_pooling(pooling),
        dense=",".join(_dense(file) for file in more[:num_dense]),
        normalize="Normalize" in names,
        similarity=values["similarity_fn_name"],
        prompts=values["prompts"] or "",
        default_prompt_name=values["default_prompt_name"] or "",
    )
    return dataclasses.asdict(settings)


def module_files(
    settings: EmbeddingSettings, bert_config: BertConfig
) -> dict[str, str]:
    """Returns the text of the files to write beside the weights, by name.

    Every sentence-transformers release can read these files. Raises InputError
    for a pooling that sentence-transformers does not have, and for windows.
    """
    if settings.pooling not in _POOLINGS or settings.in_windows:
        raise InputError(
            f"The model has the pooling {settings.pooling} and the "
            f"window_pooling {settings.window_pooling}, but "
            f"sentence-transformers has only {', '.join(_POOLINGS)} and no "
            "windows; keep the model in another format."
        )
    size = bert_config.hidden_size
    flags = {flag: settings.pooling == name for flag, name in _FLAGS.items()}
    pooling: dict[str, Any] = {"word_embedding_dimension": size, **flags}
    modules = [("", "Transformer", {}), ("1_Pooling", "Pooling", pooling)]
    for units, activation in settings.dense_layers:
        values = {
            "in_features": size,
            "out_features": units,
            "bias": True,
            "activation_function": _ACTIVATIONS[activation],
        }
        modules.append((f"{len(modules)}_Dense", "Dense", values))
        size = units
    if settings.normalize:
        modules.append((f"{len(modules)}_Normalize", "Normalize", {}))
    files: dict[str, Any] = {
        sentence_transformers.MODULES_FILE: [
            {
                "idx": i,
                "name": str(i),
                "path": folder,
                "type": f"sentence_transformers.models.{name}",
            }
            for i, (folder, name, _) in enumerate(modules)
        ],
        sentence_transformers.TRANSFORMER_FILE: {
            "max_seq_length": settings.max_seq_length,
            "do_lower_case": False,  # the tokenizer's settings decide
        },
        sentence_transformers.CONFIG_FILE: {
            "prompts": settings.named_prompts,
            "default_prompt_name": settings.default_prompt_name or None,
            "similarity_fn_name": settings.similarity,
        },
    }
    for folder, _, values in modules[1:]:
        files[f"{folder}/config.json"] = values
    return {name: to_json(x) for name, x in files.items()}


def _pooling(file: Path) -> str:
    values = read_known(file, _POOLING, is_needed=True)
    if not values["include_prompt"]:
        raise InputError(
            f"{file} has include_prompt false, so its pooling must leave out "
            "the tokens of the prompt, but this package cannot do so; choose "
            "another model."
        )
    flags = [x for x in values if x.startswith("pooling_mode_") and values[x]]
    flags = [_FLAGS.get(flag, flag) for flag in flags] or ["mean"]
    modes = values["pooling_mode"] or flags
    names = modes if isinstance(modes, list) else [modes]
    if len(names) != 1 or names[0] not in _POOLINGS:
        raise InputError(
            f"{file} asks for the pooling {' and '.join(map(str, names))}, but "
            f"it must be one of {', '.join(_POOLINGS)}; choose another model."
        )
    return names[0]


def _dense(file: Path) -> str:
    """Returns a module's entry in the setting `dense`, such as "512:tanh"."""
    names = {name: ours for ours, name in _ACTIVATIONS.items()}
    known = {
        "in_features": None,
        "out_features": None,
        "bias": None,
        "activation_function": tuple(names),
        "use_residual": (False,),
    }
    values = read_known(file, known | _INPUT_AND_OUTPUT, is_needed=True)
    return f"{values['out_features']}:{names[values['activation_function']]}"
