import pytest
import tensorflow as tf

from keras_bert.export.saved_model import export_saved_model
from keras_bert.kinds.signatures import Signature


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """The folder of a model that looks at the length of a text."""

    def answer(text):
        size = tf.cast(tf.strings.length(text), tf.float32)
        scores = tf.stack([9 / (size + 9), size / (size + 9)], axis=1)
        label = tf.gather(["no", "yes"], tf.argmax(scores, axis=1))
        return {"label": label, "scores": scores}

    text = tf.TensorSpec([None], tf.string, "text")
    folder = tmp_path_factory.mktemp("served") / "model"
    export_saved_model(
        folder,
        {"serving_default": Signature(answer, [text], ("scores",))},
        tracked=[],
        description={"kind": "classification", "labels": ("no", "yes")},
        assets={},
        model_card="A model of a test.",
    )
    return folder
