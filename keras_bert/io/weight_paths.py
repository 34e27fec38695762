"""A network -> its weights, keyed by the paths that weight files use too."""

import collections
from typing import Any

from keras_bert.errors import InputError


def weights_by_path(model: Any) -> dict[str, Any]:
    """Returns a model's weights, keyed by path.

    Raises InputError if two weights have the same path.
    """
    counts = collections.Counter(weight.path for weight in model.weights)
    for path, count in counts.most_common(1):
        if count > 1:
            raise InputError(
                f"{count} weights of the network have the path {path}, but "
                "each weight needs a path of its own; give the layers "
                "different names."
            )
    return {weight.path: weight for weight in model.weights}
