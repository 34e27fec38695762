import resource

import pytest

from keras_bert.training.event_files import EventFiles


@pytest.fixture
def full_disk():
    """No file grows over 300 bytes: a dozen figures."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_named(tmp_path, full_disk):
    rows = [{"step": step, "loss": 0.5} for step in range(50)]
    with pytest.raises(OSError, match="Cannot write .*board .*; make room"):
        EventFiles(tmp_path / "tensorboard").write(rows)
