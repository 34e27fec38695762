import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_bert.checkpoints.casing import is_lower_case, warn_of_other_case


@pytest.fixture
def checkpoint(tmp_path):
    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        save_file({"x": np.zeros(1)}, folder / "model.safetensors")
        return folder

    return make


@pytest.mark.parametrize(
    ("name", "lower_case"),
    [
        ("uncased_L-12_H-768_A-12", True),
        ("cased_L-24_H-1024_A-16", False),
        ("multi_cased_L-12_H-768_A-12", False),
        ("bert-base-uncased", True),
        ("BERT-Base-Cased", False),
        ("bert_base", None),
        ("showcased", None),
    ],
)
def test_the_name_tells(checkpoint, name, lower_case):
    folder = checkpoint(name)
    assert is_lower_case(folder) is lower_case
    assert is_lower_case(folder / "model.safetensors") is lower_case


@pytest.mark.parametrize("file", ["tokenizer_config.json", "task.json"])
def test_a_file_beside_tells_more(checkpoint, file):
    folder = checkpoint("cased")
    (folder / file).write_text(json.dumps({"do_lower_case": True}))
    assert is_lower_case(folder) is True


def test_a_warning_where_the_flag_says_otherwise(checkpoint, caplog):
    folder = checkpoint("multi_cased_L-12_H-768_A-12")
    warn_of_other_case(folder, do_lower_case=False)
    warn_of_other_case(checkpoint("some_bert"), do_lower_case=True)
    assert not caplog.records
    warn_of_other_case(folder, do_lower_case=True)
    assert (
        "was trained on cased text, but do_lower_case is true; set "
        "--do_lower_case=false" in caplog.text
    )
