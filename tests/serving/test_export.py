import json

import pytest
import tensorflow as tf
from kind_examples import make_spec

from keras_bert.errors import InputError
from keras_bert.kinds.kind import Signature
from keras_bert.serving.export import export_saved_model


class _Echo(tf.Module):
    """A kind of task whose answer is the text."""

    def __init__(self, labels):
        super().__init__(name="echo")
        self.spec = make_spec("classification", labels=labels)

    def signatures(self, model):
        inputs = [tf.TensorSpec([None], tf.string, "text")]
        return {
            "serving_default": Signature(lambda text: {"said": text}, inputs)
        }


def test_a_saved_model_replaces_an_earlier_one(tmp_path):
    export_dir = tmp_path / "served"
    export_dir.mkdir()
    for labels in (("a", "b"), ("no", "größer")):
        export_saved_model(tf.Module(), _Echo(labels), export_dir)
    assert json.loads((export_dir / "assets" / "task.json").read_text()) == {
        "kind": "echo",
        "labels": ["no", "größer"],
        "signatures": {
            "serving_default": {"inputs": {"text": 1}, "by_label": []}
        },
    }
    serve = tf.saved_model.load(str(export_dir)).signatures["serving_default"]
    assert serve(text=tf.constant(["a"]))["said"].numpy().tolist() == [b"a"]
    assert [path.name for path in tmp_path.iterdir()] == ["served"]


@pytest.mark.parametrize("name", ["model/task.json", "served", "served/extra"])
def test_no_other_file_or_folder_is_replaced(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("precious")
    export_dir = file if name == "served" else file.parent
    with pytest.raises(InputError, match="exists already and is not a Saved"):
        export_saved_model(tf.Module(), _Echo(()), export_dir)
    assert file.read_text() == "precious"
