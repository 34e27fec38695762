import numpy as np
from safetensors.numpy import load_file

from keras_bert.io.safetensors_file import write_arrays


def test_whoever_may_read_a_new_file_may_read_the_arrays(tmp_path):
    (tmp_path / "text").touch()
    file = tmp_path / "a.safetensors"
    write_arrays(file, {"a": np.ones(3, "float32")})
    assert file.stat().st_mode == (tmp_path / "text").stat().st_mode
    assert load_file(file)["a"].tolist() == [1, 1, 1]
