import json
import sys

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import prediction_log_pb2

from keras_bert.export.saved_model import export_saved_model
from keras_bert.kinds.signatures import Signature
from keras_bert.predict.versions import WARM_UP

_TEXT = tf.TensorSpec([None], tf.string, "text")
_WORDS = tf.TensorSpec([None, None], tf.string, "words")


def _answer(text, words):
    joined = tf.strings.reduce_join(words, axis=1, separator="+")
    return {"said": tf.strings.join([text, joined], "|")}


def _scores(text, words):
    return {"scores": tf.ones([tf.size(text), 2])}


def _export(export_dir, labels=("no", "größer"), **signatures):
    return export_saved_model(
        export_dir,
        {"serving_default": Signature(_answer, [_TEXT, _WORDS]), **signatures},
        tracked=[],
        description={"kind": "echo", "labels": labels},
        assets={"vocab.txt": "a\nb\n"},
        model_card="# Echo\n",
    )


@pytest.fixture(scope="module")
def version(tmp_path_factory):
    ids = tf.TensorSpec([None, None], tf.int32, "input_ids")
    return _export(
        tmp_path_factory.mktemp("served") / "echo",
        classify=Signature(
            _scores,
            [_TEXT, _WORDS],
            ("scores",),
            tf.saved_model.CLASSIFY_METHOD_NAME,
        ),
        serve_ids=Signature(lambda input_ids: {"sum": input_ids}, [ids]),
    )


@pytest.fixture(scope="module")
def signatures(version):
    model = tf.saved_model.load(str(version))
    yield model.signatures


def test_the_files_of_a_version(version):
    assert version.name == "1"
    files = {
        str(path.relative_to(version))
        for path in version.rglob("*")
        if path.is_file()
    }
    assert files >= {
        "saved_model.pb",
        "README.md",
        "assets/model.json",
        "assets/vocab.txt",
        WARM_UP,
    }
    assert (version / "README.md").read_text() == "# Echo\n"
    assert (version / "assets" / "vocab.txt").read_text() == "a\nb\n"
    description = json.loads((version / "assets" / "model.json").read_text())
    both = {"text": 1, "words": 2}
    assert description == {
        "kind": "echo",
        "labels": ["no", "größer"],
        "signatures": {
            # The other ones do not take texts.
            "serving_default": {"inputs": both, "by_label": []},
        },
    }


def test_a_signature_for_examples_answers_as_the_one_for_strings(signatures):
    texts, words = ["ä", ""], [["b", "c"], ["狐", ""]]
    examples = []
    for text, row in zip(texts, words, strict=True):
        example = tf.train.Example()
        features = example.features.feature
        features["text"].bytes_list.value.append(text.encode())
        features["words"].bytes_list.value.extend(w.encode() for w in row if w)
        examples.append(example.SerializeToString())
    expected = signatures["serving_default"](
        text=tf.constant(texts), words=tf.constant(words)
    )
    assert expected["said"].numpy()[0].decode() == "ä|b+c"
    found = signatures["serve_examples"](examples=tf.constant(examples))
    assert found["said"].numpy().tolist() == expected["said"].numpy().tolist()
    classified = signatures["classify"](inputs=tf.constant(examples))
    assert classified["scores"].shape == (2, 2)


def test_an_example_without_a_field_is_refused(signatures):
    empty = tf.train.Example().SerializeToString()
    with pytest.raises(tf.errors.InvalidArgumentError, match="text"):
        signatures["serve_examples"](examples=tf.constant([empty]))


def test_the_methods_of_tensorflow_serving(version):
    graph = saved_model_pb2.SavedModel.FromString(
        (version / "saved_model.pb").read_bytes()
    )
    methods = {
        name: definition.method_name.removeprefix("tensorflow/serving/")
        for name, definition in graph.meta_graphs[0].signature_def.items()
        if not name.startswith("__")
    }
    assert methods == {
        "serving_default": "predict",
        "serve_examples": "predict",
        "serve_ids": "predict",
        "classify": "classify",
    }


def test_the_warm_up_requests_are_answered(version, signatures):
    asked = []
    for record in tf.data.TFRecordDataset(str(version / WARM_UP)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        request = log.predict_log.request
        name = request.model_spec.signature_name
        asked.append(name)
        inputs = {
            key: tf.constant(tf.make_ndarray(x))
            for key, x in request.inputs.items()
        }
        for values in signatures[name](**inputs).values():
            assert values.shape[0] == 1
    assert asked == ["serving_default"] * 2 + ["serve_ids"] * 2


def test_the_next_free_number_is_the_next_version(tmp_path):
    assert _export(tmp_path / "echo").name == "1"
    (tmp_path / "echo" / "7").mkdir()  # not whole, but the name is taken
    (tmp_path / "echo" / "6").mkdir()
    (tmp_path / "echo" / "6" / "saved_model.pb").touch()
    assert _export(tmp_path / "echo").name == "8"


def test_a_failed_export_leaves_no_version(tmp_path):
    def fail(text, words):
        raise RuntimeError("no graph")

    with pytest.raises(RuntimeError, match="no graph"):
        _export(tmp_path, broken=Signature(fail, [_TEXT, _WORDS]))
    assert list(tmp_path.iterdir()) == []


def test_without_the_messages_of_warm_up_requests(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    assert not (_export(tmp_path) / WARM_UP).exists()
    assert "pip install 'keras-bert-tf[serve]'" in caplog.text
