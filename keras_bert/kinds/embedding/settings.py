"""The settings of an embedding task."""

from __future__ import annotations

import dataclasses

from keras_bert.errors import InputError
from keras_bert.kinds.settings import WindowSettings
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings(WindowSettings):
    """Settings of an embedding task.

    The vector of a text in windows is the mean or the maximum, by
    `window_pooling`, of the vectors that `pooling` makes of its windows. With
    `normalize`, it then gets the length 1.

    Attributes:
        pooling: The vector of a text: the mean or the max of all its tokens;
            cls, the vector of [CLS]; or pooled, the output of the pooler.
        normalize: Whether all vectors have the length 1.
        loss: multiple_negatives for pairs of texts that belong together, or
            with negatives after them; cosent for pairs with a number as their
            label; triplet for a text, a positive and negatives.
        scale: multiple_negatives and cosent multiply the cosines by this
            number.
        margin: With triplet, the cosine of the positive must exceed that of
            each negative by this number.
        dimensions: Sizes such as 384,256,128 to which the vectors can be cut
            (Matryoshka); the loss is the sum of those of all sizes. Empty for
            whole vectors only.

    Example:
        >>> keras_bert.EmbeddingSettings(dimensions="6,12").sizes
        (6, 12)
    """

    pooling: str = setting("mean", choices=("mean", "cls", "max", "pooled"))
    normalize: bool = True
    loss: str = setting(
        "multiple_negatives",
        choices=("multiple_negatives", "cosent", "triplet"),
    )
    scale: float = 20.0
    margin: float = 0.5
    dimensions: str = ""

    def __post_init__(self):
        super().__post_init__()
        sizes = self.sizes
        if 0 in sizes or len(set(sizes)) < len(sizes):
            raise InputError(
                f"dimensions is {self.dimensions!r}, but the sizes must be "
                "above 0 and differ from each other."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes in `dimensions`."""
        parts = str(self.dimensions).split(",") if self.dimensions else []
        if not all(part.strip().isdecimal() for part in parts):
            raise InputError(
                f"dimensions is {self.dimensions!r}, but must be whole numbers "
                "with commas between them, such as 384,256,128."
            )
        return tuple(map(int, parts))
