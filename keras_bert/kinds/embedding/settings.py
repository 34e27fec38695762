"""The settings of an embedding task."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.kinds.settings import PromptSettings, WindowSettings
from keras_bert.settings import setting

# The activations of a sentence-transformers Dense module, by the names that
# `get_activation` takes.
ACTIVATIONS = ("linear", "tanh", "relu", "gelu_erf")


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings(PromptSettings, WindowSettings):
    """Settings of an embedding task.

    If a text is read in windows, `pooling` and `dense` make a vector from each
    window. The vector of the text is the mean or the maximum of the windows'
    vectors, as `window_pooling` says. With `normalize`, the vector of the text
    is then scaled to norm 1.

    Attributes:
        pooling: How the vector of a text is made: mean or max of all its
            tokens; cls, the vector of [CLS]; or pooled, the output of the
            pooler.
        dense: The layers after the pooling, each written as SIZE:ACTIVATION,
            such as 256:tanh or 512:gelu_erf,256:linear. Empty for no layer.
        normalize: Whether to scale all vectors to norm 1.
        similarity: The similarity of two vectors: cosine, or dot for their
            dot product. Training compares cosines.
        prompts: A JSON object that maps names to prompts, such as
            {"query": "question: ", "document": "answer: "}.
        default_prompt_name: The name of the prompt that precedes a text if no
            other prompt is named, as in training; empty for no prompt.
        loss: The loss: multiple_negatives for pairs of texts that belong
            together, with or without negatives after them; cosent for pairs
            with a number as their label; triplet for a text, a positive and
            negatives; vector for a text with a vector as its label, such as the
            vector that a larger model gives it.
        scale: The factor by which the losses multiple_negatives and cosent
            multiply the cosines.
        margin: The margin of the triplet loss: the cosine of the positive must
            exceed the cosine of each negative by this number.
        dimensions: The sizes to which the vectors can be cut (Matryoshka), such
            as 384,256,128; the loss is the sum of the losses of all sizes.
            Empty for whole vectors only. It must be empty for the loss
            "vector".

    Example:
        >>> keras_bert.kinds.EmbeddingSettings(dimensions="6,12").sizes
        (6, 12)
        >>> keras_bert.kinds.EmbeddingSettings(prompts={"query": "q: "}).prompts
        '{"query": "q: "}'
    """

    pooling: str = setting("mean", choices=("mean", "cls", "max", "pooled"))
    dense: str = ""
    normalize: bool = True
    similarity: str = setting("cosine", choices=("cosine", "dot"))
    prompts: str = ""
    default_prompt_name: str = ""
    loss: str = setting(
        "multiple_negatives",
        choices=("multiple_negatives", "cosent", "triplet", "vector"),
        is_for_training=True,
    )
    scale: float = setting(20.0, is_for_training=True)
    margin: float = setting(0.5, is_for_training=True)
    dimensions: str = setting("", is_for_training=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.dense_layers  # raises InputError if wrong
        if self.sizes and self.loss == "vector":
            raise InputError(
                "dimensions are for losses that compare vectors with each "
                "other, but the loss is vector; leave dimensions out."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes in `dimensions`."""
        parts = self.dimensions.split(",") if self.dimensions else []
        sizes = [int(x) if x.strip().isdecimal() else 0 for x in parts]
        if 0 in sizes or len(set(sizes)) < len(sizes):
            raise InputError(
                f"dimensions is {self.dimensions!r}, but must be distinct "
                "whole numbers above 0, separated by commas, such as "
                "384,256,128."
            )
        return tuple(sizes)

    @property
    def dense_layers(self) -> tuple[tuple[int, str], ...]:
        """The size and the activation of each layer in `dense`."""
        layers = []
        for layer in self.dense.split(",") if self.dense else ():
            size, _, activation = layer.strip().partition(":")
            is_size = size.isdecimal() and int(size) > 0
            if not is_size or activation not in ACTIVATIONS:
                raise InputError(
                    f"dense is {self.dense!r}, but must be sizes above 0 with "
                    f"one of the activations {', '.join(ACTIVATIONS)}, such as "
                    "512:gelu_erf,256:linear."
                )
            layers.append((int(size), activation))
        return tuple(layers)
