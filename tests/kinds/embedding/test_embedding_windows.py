"""The vector of a long text is pooled from those of its windows."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from fit_steps import count_nothing, fit
from kind_examples import assert_answers, export, make_kind

from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.batches import evaluation_batches, training_batches
from keras_bert.finetuning.encoding import encode_rows
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds import fields
from keras_bert.models.embedder import build_embedder
from keras_bert.training.distribution import distribute
from keras_bert.training.steps import Steps
from keras_bert.vectors.embedder import load_embedder

WORDS = "the quick brown fox jumps over a lazy dog . very bad film ! not good"
REVERSED = " ".join(reversed(WORDS.split()[:11]))
SHORT = "good bad fox dog was movie"
# A window has room for 6 tokens and begins 4 after the one before it.
SETTINGS = {"max_seq_length": 8, "doc_stride": 4}
ROWS = [
    {"anchor": "a film", "positive": WORDS},
    {"anchor": REVERSED, "positive": SHORT},
    {"anchor": "", "positive": "the lazy dog"},
]
STARTS = {WORDS: [0, 4, 8, 11], REVERSED: [0, 4, 6]}  # others: [0]
TEXTS = [text for row in ROWS for text in row.values()]
ONE_DEVICE = tf.distribute.get_strategy()
POOL = {
    "mean": lambda vectors: np.mean(vectors, axis=0),
    "max": lambda vectors: np.max(vectors, axis=0),
}


@pytest.fixture(scope="module")
def config(config):
    # Dropout would differ if a batch is split.
    return dataclasses.replace(
        config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )


@pytest.fixture
def build(config, vocab_file):
    def build(window_pooling="mean", **settings):
        settings = SETTINGS | {"window_pooling": window_pooling} | settings
        return make_kind("embedding", vocab_file, config, **settings)

    return build


def _model(kind, config):
    keras.utils.set_random_seed(3)
    model = kind.build_model(config)
    randomize(model, scale=1.0)
    return model


def _run(kind, model, batch):
    """Returns the vectors of a batch and their loss."""
    features, labels, weights = batch
    vectors = model(features, training=True)["embeddings"]
    total, count = kind.objectives["embeddings"].sums(
        labels["embeddings"], vectors, weights["embeddings"]
    )["loss"]
    return vectors, total / count


def _windows(kind, text):
    """The ids of the windows of a text, cut in plain Python."""
    (ids,) = kind.tokenizer(tf.constant([text])).to_list()
    starts = STARTS.get(text, [0])
    return [[2, *ids[start : start + 6], 3] for start in starts]


@pytest.mark.slow
def test_the_windows_of_all_texts_follow_each_other(build):
    kind = build()
    examples = kind.encode(ROWS, labeled=True)
    windows = {text: _windows(kind, text) for text in TEXTS}
    assert examples.features["input_ids"].to_list() == [
        windows[row["anchor"]] + windows[row["positive"]] for row in ROWS
    ]
    counts = examples.features["num_windows"]
    assert counts.dtype == tf.int32
    assert counts.numpy().tolist() == [[1, 4], [3, 1], [1, 1]]
    assert not any(examples.features["segment_ids"].flat_values)
    assert not examples.truncated.any()
    read = examples.truncation_info()
    assert [x["num_tokens"] for x in read] == [36, 32, 7]


@pytest.mark.parametrize(
    ("window_pooling", "settings"),
    [
        ("mean", {"pooling": "mean", "normalize": True}),
        ("max", {"pooling": "max", "normalize": False}),
        *(
            pytest.param(name, settings, marks=pytest.mark.slow)
            for name, settings in (
                ("mean", {"pooling": "cls", "normalize": False}),
                ("max", {"pooling": "pooled", "normalize": True}),
            )
        ),
    ],
)
def test_a_vector_is_pooled_from_those_of_the_windows(
    config, build, window_pooling, settings
):
    kind = build(window_pooling, **settings)
    model = _model(kind, config)
    alone = build_embedder(
        config, pooling=kind.spec.settings.pooling, normalize=False
    )
    weights = {weight.path: weight for weight in model.weights}
    assert weights.keys() == {weight.path for weight in alone.weights}
    for weight in alone.weights:
        weight.assign(weights[weight.path])

    def vector(text):
        vectors = []
        for window in _windows(kind, text):
            ids = np.array([[window]])
            features = {"input_ids": ids, "input_mask": ids * 0 + 1}
            features["segment_ids"] = ids * 0
            vectors.append(alone(features)["embeddings"][0, 0])
        pooled = POOL[window_pooling](vectors)
        if settings["normalize"]:
            pooled /= np.linalg.norm(pooled)
        return pooled

    # In one batch: texts and examples with fewer windows get empty ones.
    examples = kind.encode(ROWS, labeled=False)
    features, *_ = examples.batch(tf.range(3))
    assert features["input_ids"].shape == (3, 5, 8)
    found = model(features, training=False)["embeddings"]
    assert found.dtype == tf.float32
    expected = [[vector(text) for text in row.values()] for row in ROWS]
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.slow
def test_texts_of_one_window_get_the_same_vectors_as_without(config, build):
    rows = [ROWS[2], {"anchor": SHORT, "positive": "not very good"}]
    vectors, losses = {}, {}
    for name in ("none", "mean", "max"):
        kind = build(name)
        batch = kind.encode(rows, labeled=True).batch(tf.range(2))
        vectors[name], losses[name] = _run(kind, _model(kind, config), batch)
    for name in ("mean", "max"):
        np.testing.assert_allclose(vectors[name], vectors["none"], atol=1e-6)
        np.testing.assert_allclose(losses[name], losses["none"], atol=1e-6)


@pytest.mark.slow
def test_the_served_model_and_an_embedder_answer_as_predict_does(
    config, build, tmp_path, caplog
):
    kind = build("max", max_num_windows=3, text_fields=("anchor", "positive"))
    model = _model(kind, config)
    finetuned = FinetunedModel(model, kind, config)
    answers = finetuned.predict([{"anchor": text} for text in TEXTS])
    assert [a["truncated"] for a in answers] == [
        text == WORDS for text in TEXTS
    ]
    assert [a["num_tokens"] for a in answers] == [4, 24, 24, 8, 2, 5]
    vectors = [a["embedding"] for a in answers]
    pairs = finetuned.predict(ROWS)
    assert [a["truncated"] for a in pairs] == [True, False, False]
    version = export(model, kind, tmp_path / "served")
    signatures = tf.saved_model.load(str(version)).signatures
    texts = tf.constant(TEXTS)
    for name in ("serving_default", "embed"):
        assert_answers(signatures[name](anchor=texts), answers, atol=1e-6)
    outputs = signatures["similarity"](anchor=texts[::2], positive=texts[1::2])
    assert_answers(outputs, pairs, atol=1e-6)
    windows = [_windows(kind, text)[:3] for text in TEXTS]
    ids = tf.ragged.constant(windows, dtype=tf.int32).to_tensor()
    outputs = signatures["serve_ids"](
        input_ids=ids, input_mask=tf.sign(ids), segment_ids=ids * 0
    )
    np.testing.assert_allclose(outputs["embedding"], vectors, atol=1e-6)

    finetuned.save(tmp_path / "saved")
    embedder = load_embedder(tmp_path / "saved")
    for batch_size in (1, 4):
        found = embedder.embed(TEXTS, batch_size=batch_size)
        np.testing.assert_allclose(found, vectors, atol=1e-6)
    assert "1 of 6 texts were longer than 3 windows of 8 tokens" in caplog.text
    with pytest.raises(InputError, match="window_pooling max, but sentence"):
        convert_checkpoint(
            tmp_path / "saved", tmp_path / "st", "sentence_transformers"
        )
    assert not (tmp_path / "st").exists()


def _step(kind, config, *, strategy=ONE_DEVICE, **settings):
    """Returns the loss of a batch of rows, and the gradient of each weight."""
    examples = kind.encode(ROWS, labeled=True)
    with strategy.scope():
        model = _model(kind, config)
        steps = Steps(
            model,
            kind.objectives,
            keras.optimizers.SGD(1.0),
            count_work=count_nothing,
            **settings,
        )
    before = [weight.numpy() for weight in model.weights]
    loss = fit(
        steps,
        distribute(
            strategy,
            lambda share: training_batches(
                examples, batch_size=3, num_epochs=1, seed=1, share=share
            ),
        ),
        steps_per_epoch=1,
    )["loss"][0]
    return loss, [
        old - weight.numpy()
        for old, weight in zip(before, model.weights, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("window_pooling", "split"),
    [
        ("mean", "parts"),
        ("max", "parts"),
        ("mean", "replicas"),
        ("mean", "xla"),
        ("max", "xla"),
    ],
)
def test_the_same_step_however_the_batch_is_split(
    config, build, mirrored, window_pooling, split
):
    kind = build(window_pooling)
    model = _model(kind, config)
    batch = kind.encode(ROWS, labeled=True).batch(tf.range(3))
    with tf.GradientTape() as tape:
        _, loss = _run(kind, model, batch)
    gradients = [
        tf.convert_to_tensor(gradient).numpy()
        for gradient in tape.gradient(loss, model.trainable_variables)
    ]
    assert loss > 0.1
    assert max(np.abs(g).max() for g in gradients) > 0.01
    changes = {
        "parts": {"gradient_accumulation_steps": 2},
        "replicas": {"strategy": mirrored},
        "xla": {"jit_compile": True},
    }
    found = _step(kind, config, **changes[split])
    assert found[0] == pytest.approx(float(loss), abs=1e-5)
    for gradient, expected in zip(found[1], gradients, strict=True):
        np.testing.assert_allclose(gradient, expected, atol=2e-4)


def test_batches(build):
    """Batches have one width, and an evaluation takes bounded memory."""
    kind = build()
    rng = np.random.default_rng(2)
    rows = [
        {"anchor": "fox " * n, "positive": "dog " * m}
        for n, m in [[1, 1]] * 11 + rng.integers(1, 40, (39, 2)).tolist()
    ]
    examples = kind.encode(rows, labeled=True)
    batches, order = evaluation_batches(examples, batch_size=11)
    shapes = [features["input_ids"].shape for features, *_ in batches]
    assert sorted(order) == list(range(50))
    assert sum(shape[0] for shape in shapes) == 50
    # As many windows as 11 rows of two short texts have.
    assert max(b * m for b, m, _ in shapes) <= 2 * 11
    assert shapes[0] == (11, 2, 3)
    longest = examples.features["input_ids"].row_lengths().numpy().max()
    for features, labels, _ in training_batches(
        examples, batch_size=8, num_epochs=1, seed=1, static_shapes=True
    ):
        assert features["input_ids"].shape == (8, longest, 8)
        assert features["num_windows"].shape == (8, 2)
        assert labels["embeddings"].shape == (8, 2)


@pytest.mark.slow
def test_examples_in_files(build, tmp_path, monkeypatch):
    monkeypatch.setattr(fields, "_ROWS_PER_CHUNK", 2)
    kind = build(loss="triplet")
    rows = [row | {"negative": SHORT} for row in ROWS]
    found = encode_rows(kind, rows, tmp_path)
    expected = kind.encode(rows, labeled=True)
    for batch, other in zip(
        tf.nest.flatten(found.batch(tf.range(3))),
        tf.nest.flatten(expected.batch(tf.range(3))),
        strict=True,
    ):
        np.testing.assert_array_equal(batch, other)
    assert found.features["num_windows"].shape == (3, 3)
    more = [{"anchor": "a", "positive": "b"}]
    with pytest.raises(InputError, match="From example 3 on, .* the same"):
        encode_rows(build(), [*rows[:2], *more], tmp_path)


def test_a_network_without_such_a_pooling_is_refused(config):
    with pytest.raises(InputError, match="window_pooling is 'sum', but must"):
        build_embedder(config, window_pooling="sum")
    with pytest.raises(
        InputError, match="window_pooling is .*, but must be one of none"
    ):
        build_embedder(config, window_pooling="max", packed=True)
