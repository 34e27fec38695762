"""The files for TensorBoard on a full disk; see also test_run."""

import pytest
from full_disk import full_disk

from keras_bert.training.history import History


def test_a_full_disk_is_named(tmp_path):
    history = History(tmp_path, 0)
    for step in range(50):
        history.add({"step": step, "loss": 0.5})
    with (
        pytest.raises(OSError, match="Cannot write .*board .*; free some"),
        full_disk(max_size=300),  # a dozen figures
    ):
        history.write_events()
