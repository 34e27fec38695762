"""The README.md that describes an exported model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.config import BertConfig
from keras_bert.io.paths import to_path
from keras_bert.kinds.kind import Kind
from keras_bert.text.tokenizer import BertTokenizer


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

    `training` is the attribute of `FinetunedModel`; unknown values are left
    out. `file_name` is the file of a network in another format.
    """
    spec = kind.spec
    task = {
        "kind": spec.kind,
        "fields": ", ".join(spec.text_fields),
        "labels": ", ".join(spec.labels),
    }
    training = dict(training)
    metrics = training.pop("metrics", None) or {}
    config = training.pop("config", None) or {}
    length = spec.settings.max_seq_length
    inputs = (
        f"`{file_name}` takes ids. In `assets`, `tokenizer.json` makes them of "
        "texts, with the library `tokenizers`; `model.json` has the shapes; "
        "docs/export.md of keras_bert says what the inputs hold."
    )
    return model_card(
        export_dir,
        {
            "Inputs": inputs if file_name else "",
            "Task": f"{_list(task)}\n\n{inspect.getdoc(type(kind)) or ''}",
            "Network": network_section(
                model, bert_config, kind.tokenizer, length
            ),
            "Training": training | config,
            "Figures on the validation set": metrics,
        },
    )


def model_card(
    export_dir: str | Path, sections: Mapping[str, str | Mapping[str, Any]]
) -> str:
    """Returns a card with sections of text, or of values by name."""
    title = to_path(export_dir).absolute().name
    parts = [f"# {title}\n\nA BERT model that keras_bert exported."]
    for name, content in sections.items():
        text = content if isinstance(content, str) else _list(content)
        if text:
            parts.append(f"## {name}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def network_section(
    model: keras.Model,
    bert_config: BertConfig,
    tokenizer: BertTokenizer,
    max_seq_length: int,
) -> str:
    """Returns what a card says of a network."""
    case = "lower-cased" if tokenizer.settings.do_lower_case else "cased"
    values = {
        "layers": bert_config.num_hidden_layers,
        "hidden size": bert_config.hidden_size,
        "heads": bert_config.num_attention_heads,
        "weights": f"{model.count_params():,}",
        "vocabulary": f"{tokenizer.vocab_size:,} word pieces of {case} text",
        "longest sequence": f"{max_seq_length} tokens",
    }
    return (
        f"{_list(values)}\n\nIn an answer, `num_tokens` says how many tokens "
        "were read, and `truncated` whether the end of a text was not."
    )


def _list(values):
    return "\n".join(
        f"- {name}: `{f'{value:.4g}' if isinstance(value, float) else value}`"
        for name, value in values.items()
        if value not in (None, "")
    )
