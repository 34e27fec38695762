import dataclasses

import keras
import pytest
from small_checkpoint import write_checkpoint


@pytest.fixture(scope="session")
def checkpoint(config, tmp_path_factory):
    """A pre-trained encoder of one layer, which no test changes."""
    keras.utils.set_random_seed(12345)  # it comes before the fixture `seed`
    config = dataclasses.replace(config, num_hidden_layers=1)
    return write_checkpoint(tmp_path_factory.mktemp("base") / "base", config)
