import pytest
from full_disk import full_disk

from keras_bert.training.run_files.event_files import EventFiles


def test_a_full_disk_is_named(tmp_path):
    rows = [{"step": step, "loss": 0.5} for step in range(50)]
    with (
        pytest.raises(OSError, match="Cannot write .*board .*; free some"),
        full_disk(max_size=300),  # a dozen figures
    ):
        EventFiles(tmp_path / "tensorboard").write(rows)
