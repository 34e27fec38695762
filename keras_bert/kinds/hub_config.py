"""Other libraries' names for kinds, and the config.json of a model."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keras_bert.checkpoints import sentence_transformers
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.heads import HeadNames
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.family_configs import as_of_bert

# The architecture of a folder with sentence-transformers modules.
SENTENCE_TRANSFORMER = "SentenceTransformer"
# Activations, as sentence-transformers writes them.
IDENTITY = "torch.nn.modules.linear.Identity"
SIGMOID = "torch.nn.modules.activation.Sigmoid"
# Our problem_type for a CrossEncoder, whose config names none.
RANKING = "ranking"


@dataclasses.dataclass(frozen=True)
class HubConfig:
    """The `config.json` of a checkpoint; without the file, `values` is empty.

    Attributes:
        checkpoint: The checkpoint to which the file belongs.
    """

    checkpoint: Checkpoint

    @property
    def folder(self) -> Path:
        return self.checkpoint.folder

    @property
    def values(self) -> Mapping[str, Any]:
        return self.checkpoint.hub_config

    @property
    def architecture(self) -> str:
        """The name of the BERT class with the same head as the model.

        The model may be of another family: for "RobertaForMaskedLM", this is
        "BertForMaskedLM". The name is "" if the config names no class.
        """
        root = sentence_transformers.modules_folder(self.folder)
        if root and not sentence_transformers.is_cross_encoder(root):
            return SENTENCE_TRANSFORMER
        names = self.values.get("architectures")
        name = str(names[0]) if isinstance(names, list) and names else ""
        return as_of_bert(name)

    def max_seq_length(
        self, bert_config: BertConfig, task: str = "sequence-classification"
    ) -> Any:
        """Returns the maximum sequence length of the model, in tokens.

        `task` is sentence-transformers' name for the network's task.
        """
        length = sentence_transformers.read_max_seq_length(self.folder, task)
        if isinstance(length, (int, float)):
            return int(min(length, bert_config.max_position_embeddings))
        return length or self.checkpoint.longest_sequence(bert_config)

    @property
    def cross_encoder(self) -> dict[str, Any]:
        """What sentence-transformers' files say about a CrossEncoder.

        Raises InputError if the model has a module or a setting that this
        package does not have.
        """
        root = sentence_transformers.modules_folder(self.folder) or self.folder
        return sentence_transformers.read_cross_encoder(root)

    def activation(self, *known: str) -> str | None:
        """Returns the PyTorch name of the activation that computes the score.

        Returns None if the files name no activation. Raises InputError if the
        name is not one of the `known` names.
        """
        of_model = self.values.get("sentence_transformers") or {}
        name = (  # as release 6, release 4 and older releases write it
            self.cross_encoder["activation_fn"]
            or of_model.get("activation_fn")
            or self.values.get("sbert_ce_default_activation_function")
        )
        if name not in (None, *known):
            raise InputError(
                f"{self.folder} has the activation {name!r}, but only "
                f"{' and '.join(known)} can be read here for this task; choose "
                "another model."
            )
        return name

    @property
    def problem_type(self) -> str:
        """The `problem_type` of a classifier of texts.

        If the config names no `problem_type`, a model with several outputs is
        treated as a classifier with one label per text. A model with one output
        is treated as a CrossEncoder.
        """
        by_default = "single_label_classification"
        if len(self.labels) == 1:
            by_default = RANKING
        return self.values.get("problem_type") or by_default

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the outputs, by default LABEL_0, LABEL_1 and so on.

        Raises InputError if the names are not numbered from 0.
        """
        names = self.values.get("id2label")
        count = self.values.get("num_labels", 2)
        if names is None and isinstance(count, int):
            names = {str(i): f"LABEL_{i}" for i in range(count)}
        numbers = [str(i) for i in range(len(names or ()))]
        if not isinstance(names, dict) or set(names) != set(numbers):
            raise InputError(
                f"config.json in {self.folder} has the id2label {names!r:.80}, "
                'but must have a name for each of the keys "0", "1" and so on; '
                "copy the file again."
            )
        return tuple(str(names[number]) for number in numbers)


def read_max_seq_length(
    config: HubConfig, bert_config: BertConfig
) -> dict[str, Any]:
    return {"max_seq_length": config.max_seq_length(bert_config)}


@dataclasses.dataclass(frozen=True)
class HubNames:
    """The names of a kind in transformers, sentence-transformers and the Hub.

    Attributes:
        pipeline_tag: The name of the kind in a model card.
        heads: The kind's output layers, each with its names in several
            checkpoint formats. A head of your own needs only its `path`.
        architecture: The name of the model class, if no head names it.
        problem_type: The `problem_type` in the `config.json` of a classifier of
            texts; None for a kind with a head of its own.
        text_fields: The names for the text fields of a Hub model, because its
            files do not name the fields.
        labels: The names of the labels, if the files of a Hub model cannot name
            the labels.
        has_metric: Whether the kind's first metric can score every model of the
            kind.
        activations: The PyTorch names of the activations that may turn the
            output of a CrossEncoder into a score.
        read_settings: A function that returns the settings of a Hub model.
        further_values: A function of a model's settings that returns further
            values for its `config.json`. It raises InputError if the file has
            no place for these settings.

    Example:
        >>> keras_bert.kinds.get_kind("span").hub.pipeline_tag
        'question-answering'
    """

    pipeline_tag: str = "text-classification"
    heads: tuple[HeadNames, ...] = ()
    architecture: str = ""
    problem_type: str | None = None
    text_fields: tuple[str, ...] = ("text",)
    labels: tuple[str, ...] = ()
    has_metric: bool = True
    activations: tuple[str, ...] = ()
    read_settings: Callable[[HubConfig, BertConfig], dict[str, Any]] = (
        read_max_seq_length
    )
    further_values: Callable[[Any], dict[str, Any]] = lambda settings: {}

    def config_values(self, settings: Any) -> dict[str, Any]:
        """Returns what the kind adds to transformers' `config.json`."""
        if self.problem_type and settings.in_windows:
            raise InputError(
                "transformers' format does not support windows, but the model "
                f"has window_pooling={settings.window_pooling}; keep the model "
                "in our format, keras."
            )
        values = self.further_values(settings)
        if self.problem_type in (None, RANKING):
            return values
        return {"problem_type": self.problem_type, **values}
