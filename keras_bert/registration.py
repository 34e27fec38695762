"""`import keras_bert` is enough for Keras to load a model with our layers.

Keras finds a class by its registered name. Our classes are registered when
their modules are imported. Until then, stand-ins are registered under their
names, because Keras may not be imported yet and the import of all our classes
takes time.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable

# The module typing would take most of the time of `import keras_bert`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Our saved classes, by the module that registers them.
_CLASSES = {
    "kinds.multilabel": "LabelThresholds",
    "layers.attention": "SelfAttention",
    "layers.crf": "Crf",
    "layers.dropout": "Dropout",
    "layers.embeddings": "BertEmbeddings",
    "layers.encoder_block": "EncoderBlock",
    "layers.pooler": "PredictionHead Pooler",
    "layers.positions": "RotaryPositions RelativePositions",
    "layers.pretraining_heads": (
        "MaskedLMHead NextSentenceHead ReplacedTokensHead SampledTokens"
    ),
    "layers.reshaping": (
        "FlattenTokens UnflattenTokens FoldChoices UnfoldChoices"
    ),
    "layers.sequences": (
        "RowPositions SequencePooling WindowPooling WindowNumbers"
    ),
    "training.optimizers.adam": "AdamWeightDecay AdamW Lamb WarmupDecay",
    "training.optimizers.build": "LossScaleOptimizer",
}


def register_with_keras() -> None:
    """Registers the stand-ins now, or as soon as Keras has been imported."""
    if "keras" in sys.modules:
        _register(sys.modules["keras"])
    else:
        sys.meta_path.insert(0, _KerasFinder())


def _register(keras: Any) -> None:
    registered = keras.saving.get_custom_objects()
    for module, names in _CLASSES.items():
        for name in names.split():
            registered.setdefault(f"keras_bert>{name}", _StandIn(module, name))
    for name in ("cross_entropy", "accuracy", "squared_error"):
        if f"keras_bert>{name}" not in registered:
            register = keras.saving.register_keras_serializable("keras_bert")
            register(_loss(name))


def _loss(name: str) -> Callable:
    """Returns a function that imports a loss and calls it."""

    def loss(labels: Any, outputs: Any) -> Any:
        losses = importlib.import_module("keras_bert.training.losses")
        return getattr(losses, name)(labels, outputs)

    loss.__name__ = name
    return loss


class _StandIn:
    """Stands in for a class until Keras makes the first object of it."""

    def __init__(self, module: str, name: str):
        self._module = f"keras_bert.{module}"
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        module = importlib.import_module(self._module)  # replaces the stand-in
        return getattr(module, self._name).from_config(config)


class _KerasFinder:
    """Lets Python find Keras; registers the stand-ins after Keras' import."""

    _is_searching = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "keras" or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec: Any = importlib.util.find_spec(name)
        finally:
            self._is_searching = False
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: Any) -> None:
                execute(module)
                _register(module)

            spec.loader.exec_module = execute_and_register
        return spec
