import numpy as np
import pytest

from keras_bert.training.metrics import SparseAccuracy


def test_accuracy_counts_by_weight():
    logits = np.zeros((2, 3, 4), "f")
    logits[0, 0, 2] = logits[0, 1, 1] = logits[1, 2, 3] = 1
    accuracy = SparseAccuracy()
    accuracy.update_state(
        np.array([[2, 0, 0], [3, 3, 3]]),
        logits,
        np.array([[1, 1, 0], [0, 0, 2]], "f"),
    )
    assert float(accuracy.result()) == pytest.approx(3 / 4)
