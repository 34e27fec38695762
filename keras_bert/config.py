"""The config of a network: its sizes, rates and options."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Self

from absl import logging

from keras_bert.errors import InputError
from keras_bert.families import ACTIVATIONS, FAMILIES
from keras_bert.family_configs import translate_huggingface
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import read_json
from keras_bert.settings import CheckedSettings, setting

HIDDEN_ACTS = tuple(sorted({*ACTIVATIONS.values()}))
POSITIONS = ("absolute", "relative", "rotary")
# The parts of a network that can have biases.
BIASES = "attention intermediate output norm head"

_OF_TRAINING = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "initializer_range",
)

# Any of these keys shows that Hugging Face's library wrote a config. A
# config.json without any of them is recognized by the name of the file.
_HUGGINGFACE_KEYS = {"architectures", "model_type", "transformers_version"}


@dataclasses.dataclass(frozen=True)
class BertConfig(CheckedSettings):
    """The config of a network, with the keys of `bert_config.json`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> config.num_hidden_layers, config.hidden_size, config.hidden_act
        (2, 128, 'gelu')
        >>> keras_bert.BertConfig.from_json("pretrained/bert_config.json")
        BertConfig(vocab_size=31, hidden_size=12, num_hidden_layers=2, ...

    Attributes:
        vocab_size: Number of word pieces, V.
        hidden_size: Width of the network, H.
        num_hidden_layers: Number of encoder blocks.
        num_attention_heads: Number of heads, N; must divide `hidden_size`.
        intermediate_size: Width of the feed-forward layer, F.
        hidden_act: The activation of the feed-forward layer: "gelu" (the tanh
            form of google-research/bert), "gelu_erf" (the exact form, Hugging
            Face's "gelu"), "relu", "silu", "tanh" or "linear".
        hidden_dropout_prob: Dropout rate after embeddings and dense layers.
        attention_probs_dropout_prob: Dropout rate of the attention weights.
        max_position_embeddings: The maximum sequence length, in tokens.
        type_vocab_size: Number of segments; 2 in every released BERT file.
            With 0, the network does not read segments.
        initializer_range: Standard deviation of the truncated normal
            distribution of new weights.
        layer_norm_eps: Epsilon of the layer normalizations.
        directionality: "bidi", or "left_to_right" for a network in which a
            token attends only to itself and earlier tokens (paper, 5.1).
        family: The name of the network's family in transformers, a key of
            `keras_bert.families.FAMILIES`. The fields after this one describe
            how the family differs from BERT; the family's config.json sets
            them.
        embedding_size: Width of the embeddings, E, if it differs from H. A
            dense layer then projects E to H (ELECTRA, arXiv 2003.10555).
        first_position: The index of the first token's row in the position
            embeddings. The rows before this row are for padding (RoBERTa).
        position_embedding_type: How the network reads positions. "absolute":
            it adds position embeddings. "relative": it adds position
            embeddings, and every layer adds to the attention score of two
            tokens a bias for their distance (MPNet, arXiv 2004.09297).
            "rotary": it rotates queries and keys (arXiv 2104.09864) with the
            base `rope_theta`, and divides all angles by `rope_scaling_factor`.
        local_attention: The width of the local window, in tokens: a token
            attends to `local_attention // 2` tokens on each side. The first
            layer and every n-th layer after it attend to all tokens, with n =
            `global_attn_every_n_layers`. In the other layers, tokens attend
            only within the window, and queries and keys are rotated with the
            base `local_rope_theta`. With None, all layers attend to all tokens.
        gated_feed_forward: Whether the activation of the feed-forward layer is
            multiplied by the output of a second dense layer (arXiv 2002.05202).
        norm_placement: Where the norms are: "after" (after each part of a block
            and the part's residual) or "before" (before each part, and after
            the last block).
        biases: The parts of the network that have biases, separated by spaces.
        pooler_act: The activation of the pooler.
        pooling: What the pooler reads: "cls" (the first token) or "mean" (the
            mean of all tokens).
        masked_lm_act: The activation of the masked-LM head, if it differs from
            `hidden_act`.
        prediction_head: Whether a dense layer (with `pooler_act`) and a norm
            precede every output layer (ModernBERT).
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = setting("gelu", choices=HIDDEN_ACTS)
    hidden_dropout_prob: float = setting(0.1, minimum=0, below=1)
    attention_probs_dropout_prob: float = setting(0.1, minimum=0, below=1)
    max_position_embeddings: int = 512
    type_vocab_size: int = setting(2, minimum=0)
    initializer_range: float = setting(0.02, minimum=0)
    # Released checkpoints use epsilon 1e-12, not the Keras default.
    layer_norm_eps: float = setting(1e-12, minimum=0)
    directionality: str = setting("bidi", choices=("bidi", "left_to_right"))
    family: str = setting("bert", choices=tuple(FAMILIES))
    embedding_size: int | None = None
    first_position: int = setting(0, minimum=0)
    position_embedding_type: str = setting("absolute", choices=POSITIONS)
    rope_theta: float = 10_000.0
    rope_scaling_factor: float = 1.0
    local_attention: int | None = None
    global_attn_every_n_layers: int = 3
    local_rope_theta: float = 10_000.0
    gated_feed_forward: bool = False
    norm_placement: str = setting("after", choices=("after", "before"))
    biases: str = BIASES
    pooler_act: str = setting("tanh", choices=HIDDEN_ACTS)
    pooling: str = setting("cls", choices=("cls", "mean"))
    masked_lm_act: str | None = setting(None, choices=(None, *HIDDEN_ACTS))
    prediction_head: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding_size == self.hidden_size:
            # With equal widths, transformers has no projection.
            object.__setattr__(self, "embedding_size", None)
        if unknown := set(self.biases.split()) - set(BIASES.split()):
            raise InputError(
                f"biases has {min(unknown)!r}, but the parts of a network are "
                f"{BIASES}; give some of these, separated by spaces."
            )
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not a multiple of "
                f"num_attention_heads {self.num_attention_heads}; choose a "
                "number of heads that divides the width."
            )
        head_size = self.hidden_size // self.num_attention_heads
        if self.position_embedding_type == "rotary" and head_size % 2:
            raise InputError(
                f"A head is {head_size} wide, but rotary positions need an "
                "even width; choose another number of heads."
            )

    @property
    def family_fields(self) -> dict[str, Any]:
        """The fields, from `family` on, that differ from BERT's."""
        names = [field.name for field in dataclasses.fields(self)]
        return {
            name: getattr(self, name)
            for name in names[names.index("family") :]
            if getattr(self, name) != getattr(type(self), name)
        }

    def difference(self, other: Self) -> str:
        """Returns the differences from `other` that change outputs, or ""."""
        return ", ".join(
            f"{name} is {value!r} and {getattr(other, name)!r}"
            for name, value in dataclasses.asdict(self).items()
            if value != getattr(other, name) and name not in _OF_TRAINING
        )

    def check_max_seq_length(self, max_seq_length: int) -> None:
        """Raises InputError if the network has too few positions."""
        most = self.max_position_embeddings
        if max_seq_length > most:
            raise InputError(
                f"max_seq_length {max_seq_length} is over the "
                f"max_position_embeddings {most} of the network; give at most "
                f"{most}, or add positions with extend_positions."
            )

    def check_vocab_size(
        self,
        vocab_size: int,
        vocab_file: str | Path,
        *,
        are_of_one_folder: bool = False,
    ) -> None:
        """Raises InputError if a vocabulary and the network differ in size.

        The network's vocab_size may be the size of the vocabulary, rounded up
        to a multiple of 8, 16, or another power of 2 up to 1,024; no token uses
        the extra rows. If the vocabulary and the network are from one folder,
        the network may have any number of extra rows below 1,024, and the log
        warns if the vocab_size is not rounded in this way.
        """
        padded = {-(-vocab_size // 2**i) * 2**i for i in range(3, 11)}
        if self.vocab_size in padded | {vocab_size}:
            return
        sizes = (
            f"{vocab_file} has {vocab_size} word pieces, but the model config "
            f"has a vocab_size of {self.vocab_size}"
        )
        if are_of_one_folder and 0 < self.vocab_size - vocab_size < 2**10:
            logging.warning("%s. Is the vocabulary complete?", sizes)
        else:
            raise InputError(
                f"{sizes}; give the vocabulary of the model or, for a new "
                "model, a config with the size of the vocabulary."
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Returns the config with the values of a Google or Hugging Face file.

        The log lists the keys of a Google file that are ignored. An unknown key
        raises InputError, except in Hugging Face's config.json if the value of
        the key is false, null, 0 or empty.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        other = values.keys() - known
        # No released code reads the pooler_ keys of Google's multilingual and
        # Chinese files.
        unknown = {key for key in other if not key.startswith("pooler_")}
        if other & _HUGGINGFACE_KEYS:
            values = translate_huggingface(values)
        elif unknown:
            raise InputError(
                f"Unknown keys {sorted(unknown)} in the model config; remove "
                "them or correct their spelling. The known keys are "
                f"{sorted(known)}."
            )
        elif other:
            logging.info(
                "Ignored in the model config: %s", ", ".join(sorted(other))
            )
        if "vocab_size" not in values:
            raise InputError(
                "The model config has no vocab_size; set it to the number of "
                "lines in vocab.txt."
            )
        return cls(**{k: v for k, v in values.items() if k in known})

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Returns the config in bert_config.json or Hugging Face's config.json.

        A file named config.json is read as Hugging Face's, whatever its keys.
        """
        path = to_path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"No model config at {path}; give a file such as "
                "bert_config.json or one of those in configs/models."
            )
        values = read_json(path)
        if path.name == "config.json":
            values = {"architectures": None} | values
        try:
            return cls.from_dict(values)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_name(cls, name: str) -> Self:
        """Returns a config from configs/models, such as "bert_tiny"."""
        # configs/ is beside the package in a checkout, and inside the package
        # in an install.
        package = Path(__file__).parent
        inside = package / "configs"
        configs = inside if inside.is_dir() else package.parent / "configs"
        folder = configs / "models"
        names = sorted(path.stem for path in folder.glob("*.json"))
        if name not in names:
            raise InputError(
                f"No model is named {name!r}; give one of {', '.join(names)}."
            )
        return cls.from_json(folder / f"{name}.json")

    def to_dict(self) -> dict[str, Any]:
        """Returns the values of a `bert_config.json`, by key.

        Released files have neither `layer_norm_eps` nor the keys after it. Such
        a key is left out if its value is the default, so that other tools can
        read the file.
        """
        values = dataclasses.asdict(self)
        names = list(values)
        for name in names[names.index("layer_norm_eps") :]:
            if values[name] == getattr(type(self), name):
                del values[name]
        return values

    def to_json(self) -> str:
        """Returns the text of a `bert_config.json`."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"


def check_config(config: Any) -> None:
    """Raises InputError if the config of a network is not a `BertConfig`."""
    if not isinstance(config, BertConfig):
        raise InputError(
            f"The config is {str(config)!r:.80}, but must be a BertConfig; to "
            "read one from a file, write BertConfig.from_json(path)."
        )
