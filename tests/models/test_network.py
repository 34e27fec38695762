"""The network is that of the paper, compared with tests/reference_bert.py."""

import dataclasses
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import B, P, S, V, randomize
from reference_bert import bert
from small_family import family_config

from keras_bert.errors import InputError
from keras_bert.families import FAMILIES
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.pretraining_heads import MaskedLMHead, NextSentenceHead
from keras_bert.models.embedder import build_embedder
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import (
    build_classifier,
    build_multiple_choice,
    build_regressor,
    build_span_labeler,
    build_token_classifier,
)
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.models.rewired import (
    with_attentions,
    with_hidden_states,
    with_packed_rows,
)
from keras_bert.training.distribution import precision


def _weights(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def _assert_equal(outputs, expected, tolerance=1e-5):
    for name, value in outputs.items():
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(value),
            expected[name],
            atol=tolerance,
            rtol=0,
            err_msg=name,
        )


@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_erf"])
@pytest.mark.parametrize("directionality", ["bidi", "left_to_right"])
def test_equals_the_reference(config, features, hidden_act, directionality):
    config = dataclasses.replace(
        config, hidden_act=hidden_act, directionality=directionality
    )
    model = build_pretraining_model(config)
    randomize(model)
    outputs = model(features)
    assert outputs["masked_lm"].shape == (B, P, V)
    assert outputs["next_sentence"].shape == (B, 2)
    _assert_equal(outputs, bert(_weights(model), config, features))


def test_the_encoder_equals_the_reference_layer_by_layer(config, features):
    del features["masked_lm_positions"]
    model = build_encoder(config)
    randomize(model)
    expected = bert(_weights(model), config, features)
    _assert_equal(model(features), expected)
    network = with_hidden_states(model, [1, 2])
    outputs = network(features)
    assert outputs["hidden_1"].shape == (B, S, config.hidden_size)
    expected |= {
        f"hidden_{i}": expected[f"layer_{i - 1}_output"] for i in (1, 2)
    }
    _assert_equal(outputs, expected)
    assert [w.path for w in network.weights] == [w.path for w in model.weights]
    with pytest.raises(InputError, match="has no hidden_3; choose other la"):
        with_hidden_states(model, [3])


def test_attention_probabilities(config, features):
    model = build_encoder(config)
    randomize(model)
    weights = _weights(model)
    network = with_attentions(with_hidden_states(model, [1]), iter([2]))
    outputs = network({name: features[name] for name in model.input})
    x = outputs["hidden_1"].numpy()
    query, key = (
        (
            x @ weights[f"layer_1/attention/{name}/kernel"]
            + weights[f"layer_1/attention/{name}/bias"]
        ).reshape(B, S, 3, 4)
        for name in ("query", "key")
    )
    scores = np.einsum("bsnd,btnd->bnst", query, key) / 2
    scores += (1 - features["input_mask"][:, None, None]) * -10000.0
    expected = np.exp(scores - scores.max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(outputs["attention_2"], expected, atol=1e-5)
    network = with_hidden_states(with_attentions(model, [2]), [1])
    other_order = network({name: features[name] for name in model.input})
    assert other_order.keys() == outputs.keys()
    _assert_equal(other_order, outputs, tolerance=0)
    with pytest.raises(InputError, match="no attention_3; choose other"):
        with_attentions(model, [1, 3])
    with pytest.raises(InputError, match="or the encoder itself"):
        with_attentions(build_embedder(config), [1])


def test_attention_of_packed_rows(config):
    """A text attends to itself only."""
    model = build_classifier(config, num_labels=3)
    network = with_attentions(with_packed_rows(model), [1])
    mask = np.array([[1, 1, 1, 2, 2, 0]])
    ids = {"input_ids": 4 + mask, "input_mask": mask, "segment_ids": 0 * mask}
    attention = network(ids)["attention_1"].numpy()
    attends = (attention > 0).all(axis=1)  # [B, S, T]
    np.testing.assert_array_equal(attends, mask[:, :, None] == mask[:, None])


def test_hidden_states_beside_a_head_that_is_a_network(config, features):
    encoder = build_encoder(config)
    head = keras.Sequential([keras.layers.Dense(4)])
    logits = head(encoder.output["pooled_output"])
    model = keras.Model(encoder.input, {"logits": logits})
    del features["masked_lm_positions"]
    outputs = with_hidden_states(model, [2])(features)
    assert outputs["hidden_2"].shape == (B, S, config.hidden_size)


@pytest.mark.parametrize(
    ("family", "build"),
    [
        ("bert", build_multiple_choice),
        ("modernbert", build_embedder),  # it has a last norm
    ],
)
def test_hidden_states_of_an_encoder_within_a_network(family, features, build):
    del features["masked_lm_positions"]
    config = family_config(family, V)
    model = build(config)
    randomize(model)
    encoder = with_hidden_states(build_encoder(config), [0, 2])
    weights = _weights(model)
    for weight in encoder.weights:
        weight.assign(weights.get(weight.path, weight))
    expected = encoder(features)
    choices = {name: x[None] for name, x in features.items()}  # [1, B, S]
    found = with_hidden_states(model, [0, 2])(choices)
    for name in ("hidden_0", "hidden_2"):
        np.testing.assert_array_equal(found[name][0], expected[name], name)
    for name, values in model(choices).items():
        np.testing.assert_array_equal(found[name], values, name)


def _dense(weights, name, x):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def test_a_label_per_token_and_a_span(config, features):
    del features["masked_lm_positions"]
    tagger = build_token_classifier(config, num_labels=9)
    spans = build_span_labeler(config)
    for model, name in ((tagger, "token_classifier"), (spans, "span_labeler")):
        randomize(model)
        weights = _weights(model)
        pooler = build_encoder(config).get_layer("pooler")
        reference = bert(
            weights | {w.path: w.numpy() for w in pooler.weights},
            config,
            features,
        )
        logits = _dense(weights, name, reference["sequence_output"])
        expected = {
            "logits": logits,
            "start_logits": logits[..., 0],
            "end_logits": logits[..., 1],
        }
        _assert_equal(model(features), expected)
    assert tagger(features)["logits"].shape == (B, S, 9)


def test_each_choice_is_a_text_of_its_own(config, features):
    del features["masked_lm_positions"]
    model = build_multiple_choice(config)
    randomize(model)
    reference = bert(_weights(model), config, features)
    scores = _dense(
        _weights(model), "multiple_choice", reference["pooled_output"]
    )
    # Two texts of the batch as choices of one example; then three of them.
    both = {name: x[None] for name, x in features.items()}
    _assert_equal(model(both), {"logits": scores.T})
    three = {name: x[None, [1, 0, 1]] for name, x in features.items()}
    _assert_equal(model(three), {"logits": scores.T[:, [1, 0, 1]]})


@pytest.mark.parametrize(
    ("build", "units"),
    [(lambda c: build_classifier(c, num_labels=3), 3), (build_regressor, 1)],
)
def test_fine_tuning_heads_read_the_pooled_output(
    config, features, build, units
):
    del features["masked_lm_positions"]
    model = build(config)
    randomize(model)
    weights = _weights(model)
    pooled = bert(weights, config, features)["pooled_output"]
    name = "classifier" if units > 1 else "regressor"
    logits = pooled @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
    assert logits.shape == (B, units)
    _assert_equal(model(features), {"logits": logits})


def test_a_single_label_is_an_error(config):
    with pytest.raises(ValueError, match="use build_regressor"):
        build_classifier(config, num_labels=1)


@pytest.mark.parametrize(
    "build", [build_pretraining_model, build_multiple_choice]
)
def test_save_and_load_is_identity(config, features, tmp_path, build):
    """Frozen layers stay frozen, so the state of the optimizer fits."""
    model = build(config)
    randomize(model)
    if build is build_multiple_choice:
        del features["masked_lm_positions"]
        features = {name: x[None] for name, x in features.items()}
    (encoder,) = [x for x in model.layers if isinstance(x, keras.Model)] or [
        model
    ]
    for layer in encoder.layers:
        layer.trainable = layer.name == "layer_1"
    trained = [w.path for w in model.trainable_weights]
    assert all(p.startswith(("layer_1/", "multiple_choice/")) for p in trained)
    optimizer = keras.optimizers.Adam()
    model.compile(optimizer, keras.losses.MeanSquaredError())
    optimizer.build(model.trainable_variables)
    for variable in optimizer.variables:
        variable.assign(variable + 3)
    model.save(tmp_path / "bert.keras")
    loaded = keras.models.load_model(tmp_path / "bert.keras")
    assert _weights(loaded).keys() == _weights(model).keys()
    _assert_equal(loaded(features), model(features), tolerance=0)
    for other in loaded, keras.models.clone_model(model):
        assert [w.path for w in other.trainable_weights] == trained
    for ours, theirs in zip(
        optimizer.variables, loaded.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("options", [{}, {"trainable": False}])
def test_a_layer_frozen_before_it_is_built(options):
    for layer, shapes in (
        (EncoderBlock(3, 20, **options), [(6, 12), (2, 3)]),
        (MaskedLMHead(**options), [(2, 3, 12), (2, 5), (31, 12)]),
        (NextSentenceHead(**options), [(2, 12)]),
    ):
        if not options:
            layer.trainable = False
        layer.build(*shapes)
        assert not any(w.trainable for w in layer.weights)
        layer.trainable = True
        assert len(layer.trainable_weights) == len(layer.weights)


@pytest.mark.slow
def test_a_loaded_model_can_be_quantized_before_its_first_call(
    config, features, tmp_path
):
    del features["masked_lm_positions"]
    model = build_classifier(config, num_labels=3)
    model.save(tmp_path / "bert.keras")
    loaded = keras.models.load_model(tmp_path / "bert.keras")
    with warnings.catch_warnings():
        # Keras names every layer that it cannot quantize.
        warnings.simplefilter("ignore")
        loaded.quantize("int8")
    query = loaded.get_layer("layer_0").attention.query
    assert "int8" in {weight.dtype for weight in query.weights}
    _assert_equal(loaded(features), model(features), tolerance=0.05)


def test_the_masked_lm_head_is_tied_to_the_word_embeddings(config, features):
    model = build_pretraining_model(config)
    randomize(model)
    logits = model(features)["masked_lm"]
    table = model.get_layer("embeddings").word_embeddings
    unused = 20  # a word piece that no text of the batch contains
    table.assign(np.where(np.arange(V)[:, None] == unused, 0.0, table.numpy()))
    changed = model(features)["masked_lm"]
    bias = model.get_layer("masked_lm").output_bias.numpy()
    np.testing.assert_allclose(changed[..., unused], bias[unused], atol=1e-6)
    np.testing.assert_array_equal(changed[..., :unused], logits[..., :unused])


def test_layers_of_one_shape_start_with_different_weights(config):
    weights = _weights(build_encoder(config))
    names = ("query", "key", "value", "output")
    kernels = [
        weights[f"layer_{i}/attention/{name}/kernel"]
        for name in names
        for i in range(2)
    ]
    for i, kernel in enumerate(kernels):
        assert 0.012 < kernel.std() < 0.024
        assert np.abs(kernel).max() <= 0.04
        for other in kernels[i + 1 :]:
            assert np.abs(kernel - other).max() > 1e-3


def test_dropout_works_in_training_only(config, features):
    model = build_pretraining_model(config)
    _assert_equal(model(features), model(features), tolerance=0)
    first = model(features, training=True)["masked_lm"]
    second = model(features, training=True)["masked_lm"]
    assert np.abs(first - second).max() > 1e-3


def _in_precision(name, exact, config):
    """Returns the same model with the same weights in another dtype."""
    with precision(name):
        model = build_pretraining_model(config)
    for weight, value in zip(model.weights, exact.weights, strict=True):
        assert weight.dtype == "float32"
        weight.assign(value)
    return model


def test_float16_stays_near_float32(config, features):
    exact = build_pretraining_model(config)
    randomize(exact, scale=0.05)
    model = _in_precision("float16", exact, config)
    outputs = model(features)
    assert {x.dtype.name for x in outputs.values()} == {"float32"}
    layer = keras.Model(model.input, model.get_layer("layer_1").output)
    assert layer(features).dtype.name == "float16"
    _assert_equal(outputs, exact(features), 0.006)  # it keeps 11 bits


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_in_lower_precision_stays_near_float32(family, features):
    del features["masked_lm_positions"]
    features["segment_ids"] *= 0  # RoBERTa has one segment
    config = family_config(family, V)
    exact = build_classifier(config, num_labels=3)
    randomize(exact, scale=0.3)
    logits = np.asarray(exact(features)["logits"])
    for policy, tolerance in (("bfloat16", 0.1), ("mixed_float16", 0.01)):
        keras.config.set_dtype_policy(policy)
        try:
            model = build_classifier(config, num_labels=3)
        finally:
            keras.config.set_dtype_policy("float32")
        for weight, value in zip(model.weights, exact.weights, strict=True):
            weight.assign(value)
        differences = np.abs(np.asarray(model(features)["logits"]) - logits)
        assert 0 < differences.max() < tolerance * np.ptp(logits)


def test_gradients_in_bfloat16_are_summed_in_float32(config):
    """There are 2,048 tokens; a sum in bfloat16 stops growing at 256."""
    config = dataclasses.replace(
        config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    random = np.random.default_rng(1)
    features = {
        "input_ids": random.integers(5, V, (128, 16), "int32"),
        "input_mask": np.ones((128, 16), "int32"),
        "segment_ids": random.integers(0, 2, (128, 16), "int32"),
        "masked_lm_positions": random.integers(0, 16, (128, P), "int32"),
    }
    exact = build_pretraining_model(config)
    randomize(exact, scale=0.05)
    for model in (exact, _in_precision("bfloat16", exact, config)):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            loss = -tf.reduce_sum(
                tf.nn.log_softmax(outputs["masked_lm"])[..., 7]
            )
            loss -= tf.reduce_sum(
                tf.nn.log_softmax(outputs["next_sentence"])[:, 1]
            )
        grads = tape.gradient(loss, [w.value for w in model.trainable_weights])
        if model is exact:
            expected = grads
    for weight, grad, right in zip(
        model.trainable_weights, grads, expected, strict=True
    ):
        # The softmax cancels the bias of the keys: its gradient is 0.
        if not weight.path.endswith("key/bias"):
            error = tf.norm(tf.convert_to_tensor(grad) - right) / tf.norm(
                tf.convert_to_tensor(right)
            )
            assert error < 0.03, weight.path


def test_a_masked_score_stays_masked_in_float16(config, features):
    """In float16 the term -10000 would be coarse, and -1e9 infinite."""
    with precision("float16"):
        model = build_encoder(config)
    del features["masked_lm_positions"]
    before = model(features)["sequence_output"].numpy()
    assert np.isfinite(before).all()
    features["input_ids"][1, 6] = 25  # padding
    after = model(features)["sequence_output"].numpy()
    np.testing.assert_array_equal(after[1, :6], before[1, :6])
