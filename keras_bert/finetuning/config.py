"""The settings of a fine-tuning run."""

import dataclasses
import re
from typing import Any

from keras_bert.errors import InputError
from keras_bert.settings import setting
from keras_bert.training.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class AdaptationConfig(TrainConfig):
    """Which weights of a pre-trained model are trained, and at which rate.

    The head is everything except the embeddings and the encoder blocks, so the
    pooler is part of it.

    Attributes:
        lora_rank: The rank of the adapters (LoRA, arXiv 2106.09685); 0 means no
            adapters. With adapters, only the adapters and the head are trained;
            adapters need about 10 times the usual learning rate.
        lora_alpha: The scale of the adapters: their outputs are multiplied by
            lora_alpha / lora_rank. The default is lora_rank.
        lora_targets: The dense layers of each encoder block that get an
            adapter, comma-separated: query, key, value, intermediate,
            attention/output, or output for both output layers.
        num_frozen_layers: The number of lowest encoder blocks that are not
            trained. The embeddings below these blocks are not trained either.
            With 0, all blocks are trained.
        freeze_embeddings: Whether the embeddings stay as they are.
        head_learning_rate: The learning rate of the head; by default,
            learning_rate.
        layer_decay: The factor of the learning rate per layer (0.8 in ELECTRA).
            The top encoder block has the learning_rate times this number. Each
            lower block, and then the embeddings, have the rate of the block
            above times this number. With 1, all rates are the same.
    """

    lora_rank: int = setting(0, minimum=0)
    lora_alpha: float | None = setting(None, needs="lora_rank")
    lora_targets: str = setting("query,value", needs="lora_rank")
    num_frozen_layers: int = setting(0, minimum=0)
    freeze_embeddings: bool = False
    head_learning_rate: float | None = None
    layer_decay: float = setting(1.0, maximum=1)

    @property
    def alpha(self) -> float:
        """The value of `lora_alpha`, or its default."""
        return float(self.lora_alpha or self.lora_rank)

    def __post_init__(self) -> None:
        super().__post_init__()
        freezes = self.num_frozen_layers or self.freeze_embeddings
        if self.lora_rank and freezes:
            raise InputError(
                "With lora_rank, all weights except the adapters and the "
                "head are already frozen; leave out num_frozen_layers and "
                "freeze_embeddings."
            )


# The parts of a teacher's layers that a network can learn.
LAYER_PARTS = "hidden", "relation", "score"


@dataclasses.dataclass(frozen=True)
class DistillationConfig(TrainConfig):
    """How a network learns from a teacher.

    Attributes:
        distillation_weight: The weight of the losses that compare the network
            with the teacher, from 0 to 1; the loss of the labels has the weight
            1 - distillation_weight.
        distillation_temperature: The number by which the logits of both
            networks are divided before they are compared; a higher number gives
            unlikely labels more weight.
        hidden_layer_map: Pairs of layers, such as 1:3,2:6: layer 1 of the
            network learns the hidden states of the teacher's layer 3, and layer
            2 learns from layer 6. Layer 0 is the embeddings.
        relation_layer_map: Pairs as in hidden_layer_map, such as 3:12. The
            network learns how similar the queries, keys and values of two
            tokens are in the teacher's layers (their relations; MiniLMv2). The
            widths of the two networks may differ.
        score_layer_map: Pairs as in hidden_layer_map. The network learns the
            attention scores in the teacher's layers (TinyBERT); both networks
            must have the same number of heads.
        num_relation_heads: The number of heads into which the relations of both
            networks are split; the widths of both networks must be multiples of
            this number.
        output_weight: The factor of the losses that compare the outputs.
        hidden_weight: The factor of the losses that compare hidden states.
        relation_weight: The factor of the losses that compare relations.
        score_weight: The factor of the losses that compare scores.
    """

    distillation_weight: float = setting(0.5, minimum=0, maximum=1)
    distillation_temperature: float = 2.0
    hidden_layer_map: str = ""
    relation_layer_map: str = ""
    score_layer_map: str = ""
    num_relation_heads: int = setting(12, needs="relation_layer_map")
    output_weight: float = setting(1.0, minimum=0)
    hidden_weight: float = setting(1.0, minimum=0, needs="hidden_layer_map")
    relation_weight: float = setting(1.0, minimum=0, needs="relation_layer_map")
    score_weight: float = setting(1.0, minimum=0, needs="score_layer_map")

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in LAYER_PARTS:
            self.layer_map(part)  # raises InputError if wrong

    def layer_map(self, part: str) -> dict[int, int]:
        """Returns a mapping from layers of the network to the teacher's layers.

        `part` is one of LAYER_PARTS.

        Raises InputError if the setting is not a map such as "1:3,2:6".
        """
        name = f"{part}_layer_map"
        text = getattr(self, name)
        pairs = text.split(",") if text else []
        found = [re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", x) for x in pairs]
        layers = {int(pair[1]): int(pair[2]) for pair in found if pair}
        if len(layers) < len(pairs):  # something else, or a layer twice
            raise InputError(
                f"{name} is {text!r}; give pairs of a network layer and a "
                "teacher layer, such as 1:3,2:6, with each network layer "
                "only once."
            )
        if part != "hidden" and 0 in {*layers, *layers.values()}:
            raise InputError(
                f"{name} is {text!r}, but layer 0, the embeddings, has no "
                "attention; count the layers from 1."
            )
        return layers


@dataclasses.dataclass(frozen=True)
class FinetuningConfig(AdaptationConfig, DistillationConfig):
    """The settings of a fine-tuning run; defaults as in google-research/bert.

    Attributes:
        do_lower_case: Whether to lower-case the text; by default, as the
            checkpoint says, or else as its vocabulary suggests.
        save_checkpoints_steps: The number of steps from one evaluation and
            checkpoint to the next; 0 evaluates and saves once per epoch.
        num_train_epochs: The number of passes over the training set. With 0,
            the run only evaluates the checkpoint: a fine-tuned model with the
            settings of its training or, if the kind has no output layer, a
            pre-trained model.
        warmup_proportion: The share of the steps in which the learning rate
            rises.
        early_stopping_patience: The number of evaluations after which the run
            ends if the task's first metric has not risen; 0 turns this off.
        dropout_rate: The dropout of hidden states and attention weights in
            this run; by default, as the checkpoint's config says.

    Example:
        >>> keras_bert.FinetuningConfig(num_train_epochs=2).learning_rate
        5e-05
    """

    # To resume a run, do_lower_case need not be compared: the fingerprint of a
    # run contains the tokenizer's settings and the encoded rows.
    changeable = TrainConfig.changeable | {"do_lower_case"}

    do_lower_case: bool | None = None
    learning_rate: float = 5e-5
    save_checkpoints_steps: int = setting(0, minimum=0)
    num_train_epochs: float = setting(3.0, minimum=0)
    warmup_proportion: float = setting(0.1, minimum=0, maximum=1)
    early_stopping_patience: int = setting(0, minimum=0)
    dropout_rate: float | None = setting(None, minimum=0, below=1)


def config_of_fit(
    config: FinetuningConfig | None,
    epochs: float | None,
    batch_size: int | None,
    learning_rate: float | None,
) -> FinetuningConfig:
    """Returns the config of a call of `fit`.

    The arguments that are not None replace fields of the config. Raises
    InputError if `fit` cannot train in this way.
    """
    given: dict[str, Any] = {
        "num_train_epochs": epochs,
        "train_batch_size": batch_size,
        "learning_rate": learning_rate,
    }
    changes = {name: x for name, x in given.items() if x is not None}
    config = FinetuningConfig.checked(config)
    config = dataclasses.replace(config, **changes)
    if not config.num_train_epochs:
        raise InputError("epochs is 0, but must be above 0.")
    if config.do_lower_case is not None:
        raise InputError(
            "The model already has its tokenizer; give do_lower_case to "
            "from_pretrained, not in the config."
        )
    if config.distribution_strategy == "multi_worker_mirrored":
        raise InputError(
            "fit runs in one process; to train on several workers, use "
            "finetune."
        )
    return config
