"""The README.md beside an exported model: what is known of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.config import BertConfig
from keras_bert.export.config import PretrainedExportConfig
from keras_bert.io.paths import to_path
from keras_bert.kinds.kind import Kind
from keras_bert.text.tokenizer import BertTokenizer

# What the inputs of networks hold. Those of texts in windows and of choices
# have one more axis, before that of the tokens.
_INPUTS = {
    "input_ids": "ids of the tokens, with [CLS] and [SEP]",
    "input_mask": "1 for a token",
    "segment_ids": "0 for the first text, 1 for the second",
    "position_ids": "0, 1, 2 ... from each [CLS]",
    "cls_positions": "the place of each [CLS] in its row",
    "num_windows": "the number of windows of each text",
}


def finetuned_card(
    export_dir: str | Path,
    model: keras.Model,
    kind: Kind,
    bert_config: BertConfig,
    training: Mapping[str, Any],
    *,
    file_name: str = "",
) -> str:
    """Returns the card of a fine-tuned model, or of its network alone.

    `training` is that of `FinetunedModel`; what is not known is left out. The
    network of another format is in the file of this name.
    """
    spec = kind.spec
    metrics = training.get("metrics") or {}
    labels = [f"- Labels: {_names(spec.labels)}"] if spec.labels else []
    answer = inspect.getdoc(type(kind))
    figures = (
        "- The figures above are those of the validation set. They say "
        "nothing about other data."
    )
    return _card(
        export_dir,
        {
            "Inputs and outputs": _tensors(model, file_name),
            "Task": [
                f"- Kind: `{spec.kind}`",
                f"- Fields: {_names(spec.text_fields)}",
                *labels,
                *(["", answer] if answer else []),
            ],
            "Network": _network(model, bert_config, kind.tokenizer),
            "Training": _training(training),
            "Figures on the validation set": _table(metrics),
            "Limits": [
                f"- The network reads up to {spec.settings.max_seq_length} "
                "tokens at a time. `truncated` is true in an answer if the end "
                "of a text was not read.",
                "- `num_tokens` is the number of tokens that were read.",
                *([figures] if metrics else []),
            ],
        },
        takes_ids=bool(file_name),
    )


def encoder_card(
    export_dir: str | Path,
    model: keras.Model,
    bert_config: BertConfig,
    tokenizer: BertTokenizer,
    config: PretrainedExportConfig,
    *,
    checkpoint: str,
) -> str:
    """Returns the card of a pre-trained model, which answers with vectors."""
    return _card(
        export_dir,
        {
            "Answers": [
                f"`embedding`: a vector of {bert_config.hidden_size} numbers "
                f"for each text, by the pooling `{config.pooling}`"
                f"{', with the length 1' if config.normalize else ''}."
            ],
            "Network": [
                *_network(model, bert_config, tokenizer),
                f"- Checkpoint: `{checkpoint}`",
            ],
            "Limits": [
                f"- The network reads up to {config.max_seq_length} tokens of "
                "a text. `truncated` is true in an answer if the end of a text "
                "was not read.",
            ],
        },
    )


def _card(export_dir, sections, *, takes_ids=False):
    name = to_path(export_dir).absolute().name
    beginning = (
        "The network of a BERT model that keras_bert exported. It takes ids."
        if takes_ids
        else "A BERT model that keras_bert exported. It takes strings."
    )
    parts = [
        "\n".join([f"## {title}\n", *lines])
        for title, lines in sections.items()
        if lines
    ]
    return "\n\n".join([f"# {name}", beginning, *parts]) + "\n"


def _tensors(model, file_name):
    if not file_name:
        return []
    return [
        f"`{file_name}` has these inputs, all int32. `tokenizer.json` in "
        "`assets`, for the library `tokenizers`, makes the ids of a text or of "
        "a pair. For the padding, all inputs are 0.",
        "",
        "| input | shape | |",
        "|---|---|---|",
        *(
            f"| `{name}` | {_shape(x)} | {_INPUTS[name]} |"
            for name, x in model.input.items()
        ),
        "",
        "| output | shape | dtype |",
        "|---|---|---|",
        *(
            f"| `{name}` | {_shape(x)} | {x.dtype} |"
            for name, x in model.output.items()
        ),
        "",
        "With keras_bert, `ServedModel` and predict.py answer strings.",
    ]


def _shape(tensor):
    sizes = ("any" if size is None else str(size) for size in tensor.shape)
    return f"[{', '.join(sizes)}]"


def _network(model, config, tokenizer):
    case = "lower-cased" if tokenizer.settings.do_lower_case else "cased"
    return [
        f"- Encoder: {config.num_hidden_layers} layers, hidden size "
        f"{config.hidden_size}, {config.num_attention_heads} heads",
        f"- Weights: {model.count_params():,}",
        f"- Vocabulary: {tokenizer.vocab_size:,} word pieces of {case} text",
    ]


def _training(training):
    if not training.get("config"):
        return []
    names = {
        "task": "Task",
        "data": "Folder of the data",
        "num_train_examples": "Training rows",
        "checkpoint": "Started from",
        "num_train_steps": "Steps",
    }
    return [
        *(
            f"- {title}: `{training[name]}`"
            for name, title in names.items()
            if training.get(name) is not None
        ),
        "",
        *_table(training["config"]),
    ]


def _table(values):
    if not values:
        return []
    rows = (
        f"| `{name}` | {value:.4g} |"
        if isinstance(value, float)
        else f"| `{name}` | `{value}` |"
        for name, value in values.items()
        if value not in (None, "")
    )
    return ["| name | value |", "|---|---|", *rows]


def _names(names):
    return ", ".join(f"`{name}`" for name in names)
