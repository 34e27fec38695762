"""Facts about a model -> the README.md of its folder, for the Hub."""

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.checkpoints.find import SCHEME
from keras_bert.config import BertConfig
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, whole_folder
from keras_bert.kinds.kind import Kind
from keras_bert.text.tokenizer import BertTokenizer

CARD = "README.md"
_INNER_FOLDER = re.compile(r"best|checkpoints|step-\d+")


def finetuned_card(
    folder: str | Path,
    model: keras.Model,
    kind: Kind,
    bert_config: BertConfig,
    training: Mapping[str, Any],
    *,
    file_name: str = "",
) -> str:
    """Returns the model card of a fine-tuned model, or of its network alone.

    `training` is `FinetunedModel.training`; values that are None are left out.
    `file_name` is the network's file if the format is not a SavedModel.
    """
    spec = kind.spec
    task = {
        "kind": spec.kind,
        "fields": ", ".join(spec.text_fields),
        "labels": ", ".join(spec.labels),
    }
    known = dict(training)
    metrics = known.pop("metrics", None) or {}
    config = known.pop("config", None) or {}
    length = spec.settings.max_seq_length
    inputs = (
        f"`{file_name}` takes ids. In `assets`, `tokenizer.json` makes them "
        "from texts, with the library `tokenizers`, and `model.json` has their "
        "shapes. keras_bert's docs/export.md says what the inputs contain."
    )
    return model_card(
        folder,
        kind.hub.pipeline_tag,
        {
            "Inputs": inputs if file_name else "",
            "Task": f"{_list(task)}\n\n{inspect.getdoc(type(kind)) or ''}",
            "Network": network_section(
                model, bert_config, kind.tokenizer, length
            ),
            "Training": known | config,
            "Figures on the validation set": metrics,
        },
        training,
    )


def model_card(
    folder: str | Path,
    pipeline_tag: str,
    sections: Mapping[str, str | Mapping[str, Any]],
    training: Mapping[str, Any],
) -> str:
    """Returns a model card with the `sections`, which are keyed by title.

    A section is a text, or values keyed by name. The Hub reads the lines before
    the card's title: what the model does (`pipeline_tag`, a name from the Hub),
    the Hub model from which it was trained, and its metrics. `training` is as
    in `finetuned_card`.
    """
    parts = to_path(folder).absolute().parts
    # The weights of a run are in a subfolder, but the title is the name of the
    # run's folder.
    title = next(x for x in parts[::-1] if not _INNER_FOLDER.fullmatch(x))
    head: dict[str, Any] = {"library_name": "keras", "tags": ["bert"]}
    head["pipeline_tag"] = pipeline_tag
    if (base := str(training.get("checkpoint"))).startswith(SCHEME):
        head["base_model"] = base.removeprefix(SCHEME).partition("@")[0]
    if metrics := training.get("metrics"):
        name = training.get("task") or "unknown"
        result: dict[str, Any] = {"task": {"type": pipeline_tag}}
        result["dataset"] = {"type": name, "name": name}
        result["metrics"] = [dict(type=x, value=metrics[x]) for x in metrics]
        head["model-index"] = [{"name": title, "results": [result]}]
    text = "\n".join(f"{name}: {json.dumps(x)}" for name, x in head.items())
    text = f"---\n{text}\n---\n\n# {title}\n\nA model of keras_bert.\n"
    for name, content in sections.items():
        content = content if isinstance(content, str) else _list(content)
        text += f"\n## {name}\n\n{content}\n" if content else ""
    return text


def write_card(folder: Path, card: str) -> None:
    """Writes a model card into the folder of a complete checkpoint."""
    with atomic_path(whole_folder(folder) / CARD) as file:
        file.write_text(card, encoding="utf-8", newline="\n")


def network_section(
    model: keras.Model,
    bert_config: BertConfig,
    tokenizer: BertTokenizer,
    max_seq_length: int,
) -> str:
    """Returns the section of a model card about the network."""
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
        "were read, and `truncated` says whether a text was cut."
    )


def _list(values: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- {name}: `{f'{value:.4g}' if isinstance(value, float) else value}`"
        for name, value in values.items()
        if value not in (None, "")
    )
