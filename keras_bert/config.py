"""The sizes and rates that make one BERT different from another."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.huggingface_config import from_huggingface_config
from keras_bert.errors import InputError

HIDDEN_ACTS = ("gelu", "gelu_erf", "linear", "relu", "tanh")
DIRECTIONALITIES = ("bidi", "left_to_right")

# Keys of released files that say nothing about the network built here.
_IGNORED_GOOGLE_KEYS = frozenset(
    {
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
    }
)


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """A BERT network, under the keys of the released `bert_config.json`.

    Attributes:
        vocab_size: Number of word pieces, V.
        hidden_size: Width of the network, H.
        num_hidden_layers: Number of encoder blocks.
        num_attention_heads: Number of heads, N; must divide `hidden_size`.
        intermediate_size: Width of the feed-forward layer, F.
        hidden_act: "gelu" is the tanh form of google-research/bert,
            "gelu_erf" the exact form of Hugging Face's "gelu"; also "relu",
            "tanh", "linear".
        hidden_dropout_prob: Dropout after embeddings and dense layers.
        attention_probs_dropout_prob: Dropout on the attention weights.
        max_position_embeddings: The longest sequence.
        type_vocab_size: Number of segments; 2 in every released file.
        initializer_range: Standard deviation of the truncated normal.
        layer_norm_eps: Epsilon of the layer normalizations.
        directionality: "bidi", or "left_to_right", where a token attends
            only to itself and to what stands before it (paper, 5.1).
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    # Released checkpoints use epsilon 1e-12, not the Keras default.
    layer_norm_eps: float = 1e-12
    directionality: str = "bidi"

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (type(value) is not int or value < 1):
                raise InputError(
                    f"{field.name} must be a positive whole number, but is "
                    f"{value!r}; correct it in the model config."
                )
            if field.type == "float" and (
                type(value) not in (int, float) or value < 0
            ):
                raise InputError(
                    f"{field.name} must be a number of at least 0, but is "
                    f"{value!r}; correct it in the model config."
                )
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of "
                f"num_attention_heads {self.num_attention_heads}; choose a "
                "number of heads that divides the width."
            )
        _check_choice("hidden_act", self.hidden_act, HIDDEN_ACTS)
        _check_choice("directionality", self.directionality, DIRECTIONALITIES)
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            if getattr(self, name) >= 1:
                raise InputError(
                    f"{name} must be below 1, but is {getattr(self, name)}; "
                    "the released models use 0.1."
                )

    def check_max_seq_length(self, max_seq_length: int) -> None:
        """Raises InputError where there are not as many positions."""
        if max_seq_length > self.max_position_embeddings:
            raise InputError(
                f"max_seq_length {max_seq_length} is over the "
                f"max_position_embeddings {self.max_position_embeddings} of "
                "the model config; choose a smaller one."
            )

    def check_vocab_size(self, vocab_size: int, vocab_file: str | Path) -> None:
        """Raises InputError where the file's vocabulary is not the model's."""
        if vocab_size != self.vocab_size:
            raise InputError(
                f"{vocab_file} has {vocab_size} word pieces, but the model "
                f"config a vocab_size of {self.vocab_size}; give the "
                "vocabulary that belongs to the model."
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> BertConfig:
        """Makes a config of the keys of Google's or Hugging Face's file.

        Keys that do not shape the network are named in the log; in Google's
        file, an unknown key raises InputError.
        """
        is_huggingface = not values.keys().isdisjoint(
            ("model_type", "transformers_version")
        )
        if is_huggingface:
            values = from_huggingface_config(values)
        known = {field.name for field in dataclasses.fields(cls)}
        others = values.keys() - known
        # Hugging Face's files hold much that is not about the network.
        if not is_huggingface and others - _IGNORED_GOOGLE_KEYS:
            raise InputError(
                f"Unknown keys {sorted(others - _IGNORED_GOOGLE_KEYS)} in the "
                f"model config; known are {sorted(known)}. Remove them or "
                "correct their spelling."
            )
        if "vocab_size" not in values:
            raise InputError(
                "The model config has no vocab_size; set it to the number of "
                "lines of vocab.txt."
            )
        if others:
            logging.info(
                "Ignored in the model config: %s", ", ".join(sorted(others))
            )
        return cls(**{k: v for k, v in values.items() if k in known})

    @classmethod
    def from_json(cls, path: str | Path) -> BertConfig:
        """Reads `bert_config.json` or Hugging Face's `config.json`."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"No model config at {path}; expected a bert_config.json "
                "such as those in configs/models."
            )
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path} is not valid JSON: {error}.") from error
        if not isinstance(values, dict):
            raise InputError(
                f"{path} holds {type(values).__name__}, not the JSON object "
                "of a model config."
            )
        try:
            return cls.from_dict(values)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_name(cls, name: str) -> BertConfig:
        """Returns a config of configs/models, such as "bert_tiny"."""
        folder = _models_folder()
        names = sorted(path.stem for path in folder.glob("*.json"))
        if name not in names:
            raise InputError(
                f"No model named {name!r}; known are {', '.join(names)}."
            )
        return cls.from_json(folder / f"{name}.json")

    def to_dict(self) -> dict[str, Any]:
        """Returns the released keys, and others where they say something.

        What stands at the value that every released model has, and has no
        key in the released files, is left out, so that other tools read it.
        """
        values = dataclasses.asdict(self)
        for name in ("layer_norm_eps", "directionality"):
            if values[name] == getattr(type(self), name):
                del values[name]
        return values

    def to_json(self) -> str:
        """Returns the text of a `bert_config.json`."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(
            f"{name} {value!r} is not one of {', '.join(choices)}."
        )


def _models_folder() -> Path:
    # A checkout has configs/ beside the package; an install has it inside.
    package = Path(__file__).parent
    inside = package / "configs" / "models"
    if inside.is_dir():
        return inside
    return package.parent / "configs" / "models"
