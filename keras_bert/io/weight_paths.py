"""A network -> its weights by path; files hold them under the same paths."""

import collections
from typing import Any

from keras_bert.errors import InputError


def weights_by_path(model: Any) -> dict[str, Any]:
    """Returns a model's weights by path; InputError if two share a path."""
    counts = collections.Counter(weight.path for weight in model.weights)
    for path, count in counts.most_common(1):
        if count > 1:
            raise InputError(
                f"{count} weights of the network have the path {path}, but one "
                "path holds one weight; give their layers different names."
            )
    return {weight.path: weight for weight in model.weights}
