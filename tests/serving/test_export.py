import pytest
import tensorflow as tf

from keras_bert.serving.export import export_saved_model


class _Echo(tf.Module):
    def signatures(self, model):
        specs = [tf.TensorSpec([None], tf.string, "text")]
        return {"serving_default": (lambda text: {"said": text}, specs)}


def test_a_saved_model_takes_the_place_of_an_earlier_one(tmp_path):
    export_dir = tmp_path / "served"
    export_dir.mkdir()
    for labels in ((), ("no", "yes")):
        export_saved_model(tf.Module(), _Echo(), export_dir, labels=labels)
    assert (export_dir / "assets" / "labels.txt").read_text() == "no\nyes\n"
    serve = tf.saved_model.load(str(export_dir)).signatures["serving_default"]
    assert serve(text=tf.constant(["a"]))["said"].numpy().tolist() == [b"a"]


@pytest.mark.parametrize("name", ["model/task.json", "served", "served/extra"])
def test_nothing_else_is_replaced(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("precious")
    export_dir = file if name == "served" else file.parent
    with pytest.raises(ValueError, match="is there already and no SavedModel"):
        export_saved_model(tf.Module(), _Echo(), export_dir)
    assert file.read_text() == "precious"
