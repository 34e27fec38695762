"""Labels that weigh more than others in the loss of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_bert.errors import InputError

BALANCED = "balanced"


def parse_class_weights(text: str, labels: Sequence[str]) -> np.ndarray:
    """Returns a weight for each label; 1 for "" and "balanced".

    Raises InputError if the text is wrong.
    """
    weights = np.ones(len(labels))
    if text in ("", BALANCED):  # settings_from_data replaces "balanced"
        return weights
    names, signs, numbers = zip(
        *(part.strip().rpartition("=") for part in text.split(",")), strict=True
    )
    try:
        values = np.array(numbers, "float64")
    except ValueError:
        values = np.array([])
    is_right = values.size > 0 and (np.isfinite(values) & (values > 0)).all()
    if all(signs):
        if unknown := [name for name in names if name not in labels]:
            raise InputError(
                f"class_weights has the label {unknown[0]!r}, but the labels "
                f"are {', '.join(labels)}."
            )
        is_right &= len(set(names)) == len(names)
        places = [labels.index(name) for name in names]
    else:
        is_right &= not any(signs) and len(numbers) == len(labels)
        places = list(range(len(labels)))
    if not is_right:
        raise InputError(
            f"class_weights is {text!r}; give balanced, label=number for some "
            f"labels, or a number for each of the {len(labels)} labels; "
            "numbers are above 0, with commas between."
        )
    weights[places] = values
    return weights


def format_class_weights(weights: np.ndarray) -> str:
    """Returns the text that `parse_class_weights` reads."""
    return ",".join(f"{weight:.6g}" for weight in weights)
