"""`keras.Model.quantize` works on the networks of this package."""

import dataclasses
import warnings

import keras
import numpy as np
import pytest
from conftest import randomize, write_vocab
from exported_models import MODELS
from kind_examples import make_kind

from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_classifier
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.registration import _register
from keras_bert.training import losses

_KINDS = [name for name in MODELS if name != "encoder"]


def _build(name, folder, config):
    if name == "pretraining":
        return build_pretraining_model(config)
    if name == "encoder":
        return build_encoder(config)
    kind = make_kind(
        name.split()[0], write_vocab(folder), config, **MODELS[name]
    )
    return kind.build_model(config)


def _inputs(model):
    """A batch without padding."""
    inputs = {}
    for name, x in model.input.items():
        shape = [2, 3, 7] if len(x.shape) == 3 else [2, 7]
        if name.endswith("positions"):
            shape[-1] = 1
        inputs[name] = np.full(shape, name == "input_mask", "int32")
    random = np.random.default_rng(0)
    shape = inputs["input_ids"].shape
    inputs["input_ids"] = random.integers(1, 31, shape).astype("int32")
    return inputs


@pytest.mark.parametrize(
    "name",
    ["encoder"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("pretraining", *_KINDS)
    ],
)
def test_int8_is_close_and_saved(config, tmp_path, name):
    # The second layer would be like the first.
    config = dataclasses.replace(config, num_hidden_layers=1)
    model = _build(name, tmp_path, config)
    randomize(model, scale=0.02)
    inputs = _inputs(model)
    expected = {name: np.float32(x) for name, x in model(inputs).items()}
    with warnings.catch_warnings():
        # Keras names every layer that it cannot quantize.
        warnings.simplefilter("ignore")
        model.quantize("int8")
    assert "int8" in {weight.dtype for weight in model.weights}
    model.save(tmp_path / "int8.keras")
    loaded = keras.models.load_model(tmp_path / "int8.keras")(inputs)
    for output, values in model(inputs).items():
        error = np.abs(np.float32(values) - expected[output]).max()
        assert error <= 0.05 * np.abs(expected[output]).max()
        np.testing.assert_array_equal(loaded[output], values)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
def test_our_losses_are_saved_with_a_compiled_model(config, tmp_path):
    model = build_classifier(config, num_labels=3)
    model.compile(
        loss={"logits": losses.cross_entropy},
        metrics={"logits": [losses.accuracy]},
    )
    model.save(tmp_path / "compiled.keras")
    # Keras knows the losses before their module is imported.
    registered = keras.saving.get_custom_objects()
    for name in ("cross_entropy", "accuracy", "squared_error"):
        del registered[f"keras_bert>{name}"]
    _register(keras)
    loaded = keras.models.load_model(tmp_path / "compiled.keras")
    inputs, labels = _inputs(model), {"logits": np.array([0, 2])}
    expected = model.evaluate(inputs, labels, verbose=0)
    assert loaded.evaluate(inputs, labels, verbose=0) == expected
    loaded.save(tmp_path / "again.keras")
    keras.models.load_model(tmp_path / "again.keras")
