"""Networks, checkpoints and training on TensorFlow, JAX and torch."""

import ast
import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import randomize
from small_checkpoint import write_checkpoint
from small_family import family_config

import keras_bert
from keras_bert.export.convert import convert_checkpoint
from keras_bert.layers.crf import crf_loss, marginals, viterbi
from keras_bert.models.lora import add_lora
from keras_bert.models.rewired import with_packed_rows
from keras_bert.registration import _CLASSES

HERE = Path(__file__).parent
IDS = np.array([[2, 5, 9, 3, 7, 8, 3], [2, 30, 12, 3, 6, 3, 0]], "int32")
BY_NAME = {
    "input_ids": IDS,
    "input_mask": np.minimum(IDS, 1),
    "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0]]),
    "masked_lm_positions": np.array([[1, 4, 5], [2, 0, 0]]),
    "num_windows": np.array([[1, 1], [2, 0]]),
}
# Of several sequences in a row.
PACKED = BY_NAME | {
    "input_mask": np.array([[1, 1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3, 0]]),
    "position_ids": np.array([[0, 1, 2, 3, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0]]),
    "cls_positions": np.array([[0, 4, 0], [0, 2, 4]]),
}


def _with_adapters(config):
    model = keras_bert.models.build_classifier(config, num_labels=3)
    add_lora(model, 2, 4.0, "query,value")
    return model


# Together, these have all our layers.
_SOME_MODELS = {
    "pretraining": keras_bert.models.build_pretraining_model,
    "choice": keras_bert.models.build_multiple_choice,
    "classifier": lambda c: keras_bert.models.build_classifier(c, num_labels=3),
    "crf": lambda c: keras_bert.models.build_token_classifier(
        c, num_labels=5, crf=True
    ),
    "embedder-windows": lambda c: keras_bert.models.build_embedder(
        c, window_pooling="max"
    ),
    "packed-rows": lambda c: with_packed_rows(
        keras_bert.models.build_classifier(c, num_labels=3)
    ),
    "lora": _with_adapters,
    # Rotary positions, and attention to near tokens.
    "modernbert": lambda c: keras_bert.models.build_encoder(
        family_config("modernbert", c.vocab_size)
    ),
}
_ALL_MODELS = _SOME_MODELS | {
    "encoder": keras_bert.models.build_encoder,
    "regressor": keras_bert.models.build_regressor,
    "tagger": lambda c: keras_bert.models.build_token_classifier(
        c, num_labels=4
    ),
    "span": keras_bert.models.build_span_labeler,
    "packed-left-to-right": lambda c: keras_bert.models.build_pretraining_model(
        dataclasses.replace(c, directionality="left_to_right"), packed=True
    ),
    "embedder": keras_bert.models.build_embedder,
    "windows": lambda c: keras_bert.models.pool_windows(
        keras_bert.models.build_classifier(c, num_labels=3), "mean"
    ),
}


def _inputs(model):
    folds = len(next(iter(model.input.values())).shape) == 3
    arrays = PACKED if "cls_positions" in model.input else BY_NAME
    inputs = {}
    for name in model.input:
        x = arrays[name].astype("int32")
        inputs[name] = x[:, None] if folds and name != "num_windows" else x
    return inputs


def _training_data():
    random = np.random.default_rng(0)
    ids = random.integers(5, 31, (24, 7)).astype("int32")
    features = {"input_ids": ids, "input_mask": ids * 0 + 1}
    return features | {"segment_ids": ids * 0}, random.integers(0, 3, 24)


def _train(model, optimizer):
    """Six steps."""
    model.compile(
        optimizer,
        {"logits": keras.losses.SparseCategoricalCrossentropy(True)},
    )
    features, labels = _training_data()
    return model.fit(
        features, {"logits": labels}, batch_size=4, shuffle=False, verbose=0
    )


def _crf(model):
    """What a CRF makes of rows of 7 tokens, and its weight after a step."""
    random = np.random.default_rng(5)
    features = _inputs(model)
    labels = random.integers(0, 6, features["input_ids"].shape)
    logits = random.normal(size=(24, 7, 5)).astype("float32")
    transitions = random.normal(size=(1, 5, 5)).astype("float32")
    is_word = np.arange(7) < random.integers(0, 8, (24, 1))
    found = {
        "loss": crf_loss(labels, model(features)["chain"]),
        "viterbi": viterbi(logits, is_word, transitions) * is_word,
        "marginals": marginals(logits, is_word, transitions),
    }
    model.compile(keras.optimizers.SGD(0.5), {"chain": crf_loss})
    model.fit(features, {"chain": labels}, batch_size=2, verbose=0)
    weight = model.get_layer("crf").transitions
    given = {"labels": labels, "logits": logits, "is_word": is_word}
    given |= {"transitions": transitions, **features}
    return given, {**found, "weight": weight}


@pytest.fixture(scope="module")
def folder(request, config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("backends")
    config = dataclasses.replace(
        config,
        # The second layer is like the first: its compilation costs time only.
        num_hidden_layers=1 if request.param is _SOME_MODELS else 2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    for name, build in request.param.items():
        model = build(config)
        randomize(model)
        _save(model, folder / name)
        if name == "crf":
            given, found = _crf(model)
            np.savez(folder / "given-crf.npz", **given)
            np.savez(folder / "found-crf.npz", **found)
    features, labels = _training_data()
    np.savez(folder / "training.npz", **features, labels=labels)
    for name in ("AdamWeightDecay", "Lamb"):
        model = keras.saving.load_model(folder / "classifier.keras")
        optimizer = getattr(keras_bert.training, name)
        history = _train(
            model, optimizer(keras_bert.training.WarmupDecay(2e-4, 10, 3))
        )
        _save(model, folder / f"compiled-{name.lower()}")
        weights = {w.path: w.numpy() for w in model.weights}
        loss = history.history["loss"]
        np.savez(folder / f"trained-{name}.npz", **weights, loss=loss)
    write_checkpoint(folder / "ours", config)
    convert_checkpoint(folder / "ours", folder / "hf", "huggingface")
    convert_checkpoint(folder / "ours", folder / "tf1", "google_tf1")
    pretrained = keras_bert.load_pretrained(folder / "ours")
    features = pretrained.preprocessor(
        ["The fox jumped.", "a bad film"], ["so", "it was not good"]
    )
    np.savez(folder / "features.npz", **features)
    np.savez(folder / "encoded.npz", **pretrained.encoder(features))
    return folder


def _save(model, path):
    """Saves a model, some inputs, and its outputs."""
    model.save(f"{path}.keras")
    inputs = _inputs(model)
    outputs = model(inputs)
    if not isinstance(outputs, dict):
        outputs = {"output": outputs}
    np.savez(f"{path}-inputs.npz", **inputs)
    np.savez(f"{path}-outputs.npz", **outputs)


_TENSORFLOW = ["tensorflow", "tensorflow_text"]


@pytest.mark.parametrize(
    ("backend", "without"),
    [
        pytest.param("tensorflow", [], marks=pytest.mark.slow),
        pytest.param("jax", _TENSORFLOW, marks=pytest.mark.slow),
        pytest.param("torch", _TENSORFLOW, marks=pytest.mark.slow),
        pytest.param("jax", [], marks=pytest.mark.slow),
        pytest.param("torch", [], marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "folder",
    [_SOME_MODELS, pytest.param(_ALL_MODELS, marks=pytest.mark.slow)],
    ids=["some models", "all models"],
    indirect=True,
)
def test_in_a_new_process(folder, backend, without):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, HERE / "on_a_backend.py", folder, *without],
        env=os.environ
        | {
            "KERAS_BACKEND": backend,
            "PYTHONPATH": os.pathsep.join(paths),
            # JAX compiles for longer than it runs.
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert len(done.stdout.split()) == 5


def test_on_another_backend_one_sentence_says_what_works(
    config, tmp_path, monkeypatch
):
    write_checkpoint(tmp_path / "ours", config)
    model = keras_bert.TextClassifier.from_pretrained(
        tmp_path / "ours", labels=["a", "b"], max_seq_length=8
    )
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    for call in (
        lambda: model.fit(["a dog", "a film"], ["a", "b"]),
        lambda: model.predict(["a dog"]),
        lambda: model.explain("a dog"),
        lambda: model.export(tmp_path / "served"),
        lambda: model.export(
            tmp_path / "onnx", keras_bert.ExportConfig("onnx")
        ),
        lambda: keras_bert.load_embedder(tmp_path / "ours", max_seq_length=8),
    ):
        with pytest.raises(keras_bert.InputError, match="Keras computes with"):
            call()


def test_every_saved_class_is_known_by_name():
    package = HERE.parent / "keras_bert"
    found = {}
    for file in package.rglob("*.py"):
        names = [
            node.name
            for node in ast.parse(file.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef)
            and any(
                "register_keras_serializable" in ast.unparse(decorator)
                for decorator in node.decorator_list
            )
        ]
        if names:
            module = file.relative_to(package).with_suffix("")
            found[".".join(module.parts)] = " ".join(names)
    assert found == _CLASSES
