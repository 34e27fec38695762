"""Networks in other formats answer as the SavedModel of the same model does."""

import dataclasses
import itertools
import json
import math
import re
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import CONFIG, randomize, write_vocab
from exported_models import MODELS
from full_disk import full_disk
from kind_examples import make_kind
from small_server import client_of

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export import fastest
from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import export_finetuned, in_bfloat16
from keras_bert.export.network import write_litert, write_openvino
from keras_bert.finetuning import export_report
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.answers import ANSWERS
from keras_bert.predict import network_without_tensorflow
from keras_bert.predict.load_functions import load_functions
from keras_bert.predict.network import load_network
from keras_bert.predict.served_model import ServedModel
from keras_bert.predict.versions import MODEL_FILES, find_versions, format_of
from keras_bert.server.servable import Servable
from keras_bert.text.without_tensorflow import ListTokenizer
from keras_bert.training.distribution import precision

_TEXTS = [
    "The quick brown fox jumped over a lazy dog. " * 3,
    "ÉLAN, 狐 is the film!",
    "",
]
_NETWORKS = [name for name in MODELS if name != "encoder"]


@pytest.fixture(scope="module")
def config():
    return dataclasses.replace(CONFIG, num_hidden_layers=1)


def _make(name, folder, config):
    kind = make_kind(
        name.split()[0], write_vocab(folder), config, **MODELS[name]
    )
    model = kind.build_model(config)
    randomize(model)
    return model, kind


def _export(
    model, kind, folder, config, model_format, precision="float32", **options
):
    return export_finetuned(
        model,
        kind,
        folder,
        config=ExportConfig(model_format, precision),
        bert_config=config,
        training={},
        **options,
    )


@pytest.fixture(scope="module")
def classifier(config, tmp_path_factory):
    """A model, its kind, and a function: format -> the exported version."""
    folder = tmp_path_factory.mktemp("classifier")
    model, kind = _make("classification", folder, config)
    versions = {}

    def export(model_format):
        if model_format not in versions:
            versions[model_format] = _export(
                model, kind, folder / model_format, config, model_format
            )
        return versions[model_format]

    return model, kind, export


def _ask(version, texts):
    function = load_functions(version)["serving_default"]
    return function.call({name: x.numpy() for name, x in texts.items()})


def _assert_same(answers, expected):
    assert answers.keys() == expected.keys()
    for name, values in expected.items():
        values = np.asarray(values)
        assert answers[name].dtype == values.dtype
        if values.dtype == np.float32:
            np.testing.assert_allclose(answers[name], values, atol=1e-5)
        else:
            np.testing.assert_array_equal(answers[name], values)


_QUICK = [("classification", "litert")]


@pytest.mark.parametrize(
    ("name", "model_format"),
    [
        pytest.param(*pair, marks=[] if pair in _QUICK else [pytest.mark.slow])
        for pair in itertools.product(_NETWORKS, ["litert", "onnx", "openvino"])
    ],
)
def test_a_network_answers_strings_as_the_model(
    config, tmp_path, classifier, monkeypatch, name, model_format
):
    if name == "classification":
        model, kind, export = classifier
        version = export(model_format)
    else:
        model, kind = _make(name, tmp_path, config)
        folder = tmp_path / "other"
        version = _export(model, kind, folder, config, model_format)
    expected = kind.signatures(model)["serving_default"]
    texts = {
        spec.name: tf.constant(
            _TEXTS
            if spec.shape.rank == 1
            else [[x, "a dog", x] for x in _TEXTS]
        )
        for spec in expected.inputs
    }
    answers = _ask(version, texts)
    _assert_same(answers, expected.function(*texts.values()))
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    if name.split()[0] in ANSWERS:
        _assert_same(_ask(version, texts), answers)
    else:
        with pytest.raises(InputError, match="needs TensorFlow"):
            _ask(version, texts)


def test_served_model_reads_a_network(classifier, monkeypatch):
    _, kind, export = classifier
    monkeypatch.delattr("os.sched_getaffinity")  # as on macOS and Windows
    served = ServedModel(export("litert").parent)
    (answer,) = served.answer([{served.inputs[0]: "a good film"}])
    assert list(answer["scores"]) == list(kind.spec.labels)


_PROGRAM = """
import json
import sys

sys.modules["tensorflow"] = None
import keras_bert.server.run
from keras_bert.predict.served_model import ServedModel

requests = json.loads(sys.argv[2])
print(json.dumps(ServedModel(sys.argv[1]).answer(requests)))
assert "keras" not in sys.modules
"""


@pytest.mark.slow
def test_a_network_is_asked_and_served_without_tensorflow(classifier):
    _, kind, export = classifier
    folder = export("litert").parent
    served = ServedModel(folder)
    requests = [{served.inputs[0]: text} for text in _TEXTS]
    expected = served.answer(requests)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, folder, json.dumps(requests)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for answer, other in zip(json.loads(done.stdout), expected, strict=True):
        assert answer == other | {
            "scores": pytest.approx(other["scores"], abs=1e-5)
        }
    with client_of(folder) as client:
        rows = client.post(
            "/v1/models/small:predict", json={"instances": _TEXTS}
        ).json()["predictions"]
        metadata = client.get("/v1/models/small/metadata").json()["metadata"]
        empty = client.post("/v1/models/small:predict", json={"inputs": []})
    for row, answer in zip(rows, expected, strict=True):
        scores = list(answer["scores"].values())
        assert row == answer | {"scores": pytest.approx(scores, abs=1e-5)}
    signatures = metadata["signature_def"]["signature_def"]
    assert signatures["serving_default"]["outputs"]["scores"] == {
        "dtype": "DT_FLOAT",
        "tensor_shape": {
            "dim": [{"size": "-1", "name": ""}, {"size": "3", "name": ""}],
            "unknown_rank": False,
        },
        "name": "scores",
    }
    assert empty.status_code == 400
    assert "There is no text" in empty.text


def test_a_server_without_tensorflow_builds_one_tokenizer(
    classifier, monkeypatch
):
    built = []
    build = ListTokenizer.__init__

    def counted(self, *args, **options):
        built.append(self)
        build(self, *args, **options)

    version = classifier[2]("litert")
    monkeypatch.setattr(ListTokenizer, "__init__", counted)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    servable = Servable(version)
    texts = {"text": np.array([b"a film"], object)}
    assert servable.pieces.call(texts)["pieces"][0].count('"id"') == 2
    answer = servable.signatures["serving_default"].call(texts)
    assert answer["num_tokens"] == [4]
    assert len(built) == 1


def test_without_tensorflow_short_texts_are_not_padded_to_a_long_one(
    classifier, monkeypatch
):
    version = classifier[2]("litert")
    texts = [["a film"], ["the good fox jumped " * 9], *[["a dog"]] * 40]
    texts = [{"text": tf.constant(text)} for text in texts]
    asked = load_functions(version)["serving_default"]
    expected = [
        asked.call({"text": x["text"].numpy()})["scores"][0] for x in texts
    ]
    shapes = []

    def load(version):
        network = load_network(version)
        run = network.run

        def recorded(arrays):
            shapes.append(arrays["input_ids"].shape)
            return run(arrays)

        return dataclasses.replace(network, run=recorded)

    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.setattr(network_without_tensorflow, "load_network", load)
    (call,) = load_functions(version).values()
    shapes.clear()
    answers = call.call({"text": np.concatenate([x["text"] for x in texts])})
    np.testing.assert_allclose(answers["scores"], expected, atol=1e-5)
    # Up to 64 tokens and an eighth are lost: 10 times 8 of 11 times 12.
    assert shapes == [(11, 12), (31, 4)]


@pytest.mark.slow
def test_auto_takes_the_fastest_format(
    classifier, config, tmp_path, monkeypatch
):
    model, kind, _ = classifier
    finetuned = FinetunedModel(model, kind, config)
    written = []

    def recorded(*args, **options):
        written.append(options["config"].format)
        return export_finetuned(*args, **options)

    monkeypatch.setattr(export_report, "export_finetuned", recorded)
    monkeypatch.setattr(fastest, "_NUM_ROUNDS", 1)
    folder = tmp_path / "fastest"
    for _ in range(2):  # the second version has the format of the first one
        version = finetuned.export(folder, ExportConfig("auto", "int8"))
    reports = [
        json.loads((folder / f"{number}.report.json").read_text())
        for number in (1, 2)
    ]
    measured = reports[0]["measured_ms"]
    assert "none were given" in measured.pop("openvino")
    assert sorted(measured) == ["litert", "onnx"]
    times = {name: math.prod(x.values()) for name, x in measured.items()}
    assert times[reports[0]["format"]] == min(times.values())
    assert reports[1]["format"] == format_of(version) == reports[0]["format"]
    assert "measured_ms" not in reports[1]
    assert written == ["litert", "onnx", "openvino", reports[0]["format"]]
    cards = [(folder / x / "README.md").read_text() for x in ("1", "2")]
    assert cards[0] == cards[1]


def test_the_files_of_a_network(classifier):
    version = classifier[2]("litert")
    assert version.name == "1"
    assert find_versions(version.parent) == {1: version}
    files = {
        str(path.relative_to(version))
        for path in version.rglob("*")
        if path.is_file()
    }
    assert files == {
        "README.md",
        "checksums.json",
        "network.tflite",
        "assets/bert_config.json",
        "assets/model.json",
        "assets/task.json",
        "assets/tokenizer.json",
        "assets/tokenizer_config.json",
        "assets/vocab.txt",
    }
    description = json.loads((version / "assets/model.json").read_text())
    assert description["network"]["outputs"] == {
        "logits": {"dtype": "float32", "shape": [None, 3]}
    }
    card = (version / "README.md").read_text(encoding="utf-8")
    assert "`network.tflite` takes ids." in card


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [True, False])
def test_a_layer_norm_is_one_operation_of_openvino(
    config, classifier, tmp_path, is_new
):
    """Also in a new network, whose betas and output bias OpenVINO leaves out.

    Without the bias, the output has two names.
    """
    openvino = pytest.importorskip("openvino")
    model, kind, export = classifier
    if is_new:
        model = kind.build_model(config)
        version = _export(model, kind, tmp_path / "new", config, "openvino")
    else:
        version = export("openvino")
    network = openvino.Core().read_model(version / "network.xml")
    names = [x.get_type_name() for x in network.get_ops()]
    assert names.count("MVN") == 2 * config.num_hidden_layers + 1
    assert "SquaredDifference" not in names
    ids = tf.constant([[2, 5, 6, 3], [2, 7, 3, 0]])
    features = {
        "input_ids": ids,
        "input_mask": tf.cast(ids > 0, tf.int32),
        "segment_ids": tf.zeros_like(ids),
    }
    np.testing.assert_allclose(
        load_network(version)(features)["logits"],
        model(features)["logits"],
        atol=1e-5,
    )


@pytest.mark.slow
def test_openvino_normalizes_over_all_axes_of_a_layer_norm(tmp_path):
    openvino = pytest.importorskip("openvino")
    inputs = {"x": keras.Input([3, 4], name="x")}
    norm = keras.layers.LayerNormalization(axis=[1, 2])
    model = keras.Model(inputs, {"y": norm(inputs["x"])})
    randomize(model)
    write_openvino(model, "float32", tmp_path / "network.xml")
    x = np.random.default_rng(1).normal(size=[2, 3, 4]).astype("float32")
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    network = openvino.compile_model(tmp_path / "network.xml", config=exact)
    np.testing.assert_allclose(
        network({"x": x})["y"], model({"x": x})["y"], atol=1e-5
    )


def test_litert_refuses_an_lstm(tmp_path):
    """It needs lists of tensors, for which LiteRT has no operations."""
    inputs = {"x": keras.Input([3, 4], name="x")}
    model = keras.Model(inputs, {"y": keras.layers.LSTM(5)(inputs["x"])})
    with pytest.raises(InputError, match="lacks an operation of the network"):
        write_litert(model, "float32", tmp_path / "network.tflite")
    assert list(tmp_path.iterdir()) == []


class _BetaFunction(keras.layers.Layer):
    def call(self, x):
        return tf.math.betainc(x, x, tf.sigmoid(x))


def test_openvino_refuses_an_operation(tmp_path):
    pytest.importorskip("openvino")
    inputs = {"x": keras.Input([3], name="x")}
    model = keras.Model(inputs, {"y": _BetaFunction()(inputs["x"])})
    with pytest.raises(InputError, match="OpenVINO lacks an operation"):
        write_openvino(model, "float32", tmp_path / "network.xml")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_has_versions_of_one_format(config, classifier):
    model, kind, export = classifier
    folder = export("litert").parent
    with pytest.raises(InputError, match="has versions of the format litert"):
        _export(model, kind, folder, config, "onnx")


@pytest.mark.parametrize(
    "model_format",
    ["litert", "onnx", pytest.param("openvino", marks=pytest.mark.slow)],
)
def test_a_full_disk_is_named_and_leaves_nothing(
    classifier, config, tmp_path, model_format
):
    model, kind, _ = classifier
    folder = tmp_path / "served"
    with pytest.raises(OSError) as raised, full_disk(max_size=2000):
        _export(model, kind, folder, config, model_format)
    assert raised.value.filename == str(folder) or "free some disk" in str(
        raised.value
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "model_format",
    ["litert", "onnx", pytest.param("openvino", marks=pytest.mark.slow)],
)
def test_a_damaged_network_is_refused(classifier, tmp_path, model_format):
    version = tmp_path / "1"
    shutil.copytree(classifier[2](model_format), version)
    file = version / MODEL_FILES[model_format]
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError, match=f"{file.name} is damaged; copy the"):
        ServedModel(version)
    (version / "checksums.json").unlink()
    with pytest.raises(InputError, match=f"{file.name} is not an? .* network"):
        ServedModel(version)


# Large enough to be quantized: LiteRT leaves small weights as they are.
_WIDE = BertConfig(
    vocab_size=31,
    hidden_size=96,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=160,
    max_position_embeddings=16,
)


@pytest.mark.slow
@pytest.mark.parametrize("model_format", ["litert", "onnx", "openvino"])
def test_int8_is_a_quarter_of_the_size_and_close(tmp_path, model_format):
    model, kind = _make("classification", tmp_path, _WIDE)
    random = np.random.default_rng(5)
    words = [x for x in kind.tokenizer.vocab if x[0] not in "[#"]
    lengths = [*[9] * 28, 5, 2]
    rows = [{"text": " ".join(random.choice(words, n))} for n in lengths]
    examples = kind.encode(rows, labeled=False)
    features = examples.batch(tf.range(30))[0]
    expected = model(features)["logits"].numpy()
    version = _export(
        model,
        kind,
        tmp_path / "int8",
        _WIDE,
        model_format,
        "int8",
        calibration=rows,
    )
    size = sum(file.stat().st_size for file in version.glob("network.*"))
    if model_format == "openvino":
        network = (version / "network.xml").read_text()
        # The products of two layers, the pooler and the classifier; the
        # tables of the words and of the segments.
        weights = re.findall(
            r'<data element_type="[iu]8" shape="\d+, ', network
        )
        assert len(weights) == 2 * 6 + 2 + 2
        size -= len(network)  # describes the network, without its weights
    assert size < 0.45 * 4 * model.count_params()
    network = load_network(version)
    logits = network(features)["logits"].numpy()
    error = np.abs(logits - expected).mean() / np.ptp(expected)
    # Neither the other rows of a batch nor the padding change an answer.
    alone = [network(examples.batch([i])[0])["logits"][0] for i in (0, 28, 29)]
    np.testing.assert_allclose(logits[[0, 28, 29]], alone, atol=1e-6)
    # Weights of seven bits: 0.026 (ONNX Runtime) and 0.034 (OpenVINO). If sums
    # overflow, which eight bits do without VNNI, it is over 0.06.
    assert 1e-5 < error < 0.05


def test_int8_of_openvino_says_what_it_lacks(
    config, classifier, tmp_path, monkeypatch
):
    model, kind, _ = classifier
    finetuned = FinetunedModel(model, kind, config)
    int8 = ExportConfig("openvino", "int8")
    with pytest.raises(InputError, match="none were given; give --data_dir"):
        finetuned.export(tmp_path / "vino", int8)
    monkeypatch.setitem(sys.modules, "nncf", None)
    with pytest.raises(InputError, match="nncf is missing; run pip install"):
        finetuned.export(tmp_path / "vino", int8, calibration=_TEXTS)
    assert list((tmp_path / "vino").iterdir()) == []


@pytest.mark.slow
def test_bfloat16_halves_the_weights(config, classifier):
    model, kind, _ = classifier
    half = in_bfloat16(model, kind, config)
    exact, rounded = (
        x.get_layer("layer_0").attention.query.kernel for x in (model, half)
    )
    assert rounded.dtype == "bfloat16"
    np.testing.assert_allclose(
        np.float32(rounded.numpy()), exact.numpy(), rtol=2**-8
    )
    texts = tf.constant(["a good film", "the fox"])
    scores = [
        kind.signatures(network)["serving_default"].function(texts)["scores"]
        for network in (model, half)
    ]
    assert 0 < np.abs(scores[0] - scores[1]).max() < 0.05


@pytest.mark.parametrize("name", _NETWORKS)
def test_every_kind_answers_alike_in_bfloat16(name, config, tmp_path):
    model, kind = _make(name, tmp_path, config)
    ids = np.random.default_rng(0).integers(5, config.vocab_size, [2, 3, 5])
    if len(kind.id_signature(model).inputs[0].shape) == 2:
        ids = ids[0]
    exact, half = (
        kind.id_signature(network).function(
            *(tf.constant(x, tf.int32) for x in (ids, ids * 0 + 1, ids * 0))
        )
        for network in (model, in_bfloat16(model, kind, config))
    )
    for output, values in exact.items():
        assert half[output].dtype == values.dtype, output
        if values.dtype.is_floating:
            np.testing.assert_allclose(half[output], values, atol=0.1)


def test_thresholds_are_compared_in_float32(config, tmp_path):
    """0.5 and the sigmoid of 0.001 are the same in bfloat16."""
    with precision("bfloat16"):
        model, _ = _make("multilabel", tmp_path, config)
    layer = model.get_layer("label_thresholds")
    layer.thresholds.assign([0.5, 0.5, 0.5])
    is_given = layer(np.array([[1e-3, -1e-3, 0.0]]))
    np.testing.assert_array_equal(is_given, [[True, False, True]])


@pytest.mark.parametrize(
    ("model_format", "precision", "other"),
    [
        ("saved_model", "int8", "bfloat16"),
        ("litert", "bfloat16", "int8"),
        ("onnx", "bfloat16", "int8"),
    ],
)
def test_a_format_has_its_precisions(model_format, precision, other):
    with pytest.raises(InputError, match=f"choose float32 or {other}"):
        ExportConfig(model_format, precision)
