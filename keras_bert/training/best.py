"""The best checkpoint of a run, which is kept as the run's result."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.io.whole_files import is_whole, read_json, whole_folder

SCORE_FILE = "score.json"


@dataclasses.dataclass(frozen=True)
class Selection:
    """How the best checkpoint of a run is chosen.

    Attributes:
        evaluate: A function that returns a model's metrics on held-out data.
        metric: The name of the metric to maximize.
        patience: The number of intervals without a better score after which the
            run ends; with 0, the run never ends early.
    """

    evaluate: Callable[[keras.Model], Mapping[str, float]]
    metric: str
    patience: int = 0


def best_of(folder: Path) -> dict[str, Any]:
    """Returns `step`, `score`, `since` and any `loss` of the best checkpoint.

    The step is 0 if there is no checkpoint. The score is None if it was NaN.
    `since` is the first step with this score.
    """
    folder = whole_folder(folder)
    file = folder / SCORE_FILE
    if is_whole(folder) and file.is_file():
        best = read_json(file)
        return {"since": best["step"], **best}
    return {"step": 0, "score": None, "since": 0}


def is_better(
    score: float, loss: float | None, best: Mapping[str, Any]
) -> bool:
    """Returns whether a score is better than `best`, which is from `best_of`.

    Of two equal scores, the score with the lower loss is better, because all
    answers to a few held-out rows may be correct long before the training ends.
    NaN, such as the correlation with a constant, is worse than any other score,
    but better than no checkpoint at all.
    """
    if math.isnan(score):
        return not best["step"]
    if score == best["score"] and loss is not None:
        return loss < best.get("loss", -math.inf)
    return best["score"] is None or score > best["score"]
