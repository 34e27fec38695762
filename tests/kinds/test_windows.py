"""Long texts are read in windows, and the answers are pooled."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import make_kind, serve

from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.batches import evaluation_batches, training_batches
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.training.distribution import BatchShard

WORDS = "the quick brown fox jumps over a lazy dog . very bad film ! not good"
# 16 words are 17 tokens: "jumps" is two. A window has room for 6.
TEXTS = [
    WORDS,
    "a film",
    "",
    " ".join(reversed(WORDS.split()[:11])),
    "good bad fox dog was movie",
]
SETTINGS = {"max_seq_length": 8, "doc_stride": 4}
STARTS = [[0, 4, 8, 11], [0], [0], [0, 4, 6], [0]]
LABELS = {"classification": ("no", "yes", "maybe"), "multilabel": ("x", "y")}
LABEL = {
    "classification": "maybe",
    "multilabel": ["y"],
    "regression": "3.5",
}


@pytest.fixture
def build(config, vocab_file):
    def build(kind="classification", pooling="mean", **settings):
        settings = {**SETTINGS, "window_pooling": pooling} | settings
        return make_kind(
            kind,
            vocab_file,
            config,
            labels=LABELS.get(kind, ()),
            **settings,
        )

    return build


def rows_of(kind):
    (field,) = kind.spec.text_fields
    return [{field: text, "label": LABEL[kind.spec.kind]} for text in TEXTS]


def network(kind, config):
    model = kind.build_model(config)
    randomize(model)
    return model


def copy_weights(model, other):
    weights = {weight.path: weight for weight in other.weights}
    assert weights.keys() == {weight.path for weight in model.weights}
    for weight in model.weights:
        weights[weight.path].assign(weight)


def windows_of(kind, text):
    """The ids of the windows of a text, cut in plain Python."""
    ids = kind.tokenizer(tf.constant([text])).to_list()[0]
    room = kind.spec.settings.max_seq_length - 2
    starts = [0]
    while starts[-1] + room < len(ids):
        starts.append(min(starts[-1] + SETTINGS["doc_stride"], len(ids) - room))
    return starts, [[2, *ids[start : start + room], 3] for start in starts]


def test_windows_overlap_and_the_last_one_is_full(build):
    kind = build()
    examples = kind.encode(rows_of(kind), labeled=True)
    expected = [windows_of(kind, text) for text in TEXTS]
    assert [starts for starts, _ in expected] == STARTS
    windows = [windows for _, windows in expected]
    assert examples.features["input_ids"].to_list() == windows
    assert examples.rows.tolist() == [0, 1, 2, 3, 4]
    assert not examples.truncated.any()
    read = examples.truncation_info()
    assert [x["num_tokens"] for x in read] == [32, 4, 2, 24, 8]


POOL = {
    "mean": lambda logits: np.mean(logits, axis=0),
    "max": lambda logits: np.max(logits, axis=0),
}


@pytest.mark.parametrize(
    ("name", "pooling"),
    [
        ("classification", "max"),
        ("regression", "mean"),
        pytest.param("multilabel", "max", marks=pytest.mark.slow),
    ],
)
def test_a_text_gets_the_pooled_outputs_of_its_windows(
    config, build, name, pooling
):
    kind = build(name, pooling)
    model = network(kind, config)
    alone = build(name, "none").build_model(config)
    copy_weights(model, alone)

    def logits_alone(ids):
        ids = np.array([ids])
        features = {"input_ids": ids, "input_mask": ids * 0 + 1}
        features["segment_ids"] = ids * 0
        return alone(features)["logits"][0]

    examples = kind.encode(rows_of(kind), labeled=False)
    # In one batch: texts with fewer windows get empty ones.
    features, *_ = examples.batch(tf.range(len(TEXTS)))
    assert features["input_ids"].shape == (5, 4, 8)
    outputs = model(features, training=False)["logits"]
    for text, output in zip(TEXTS, outputs, strict=True):
        _, windows = windows_of(kind, text)
        expected = POOL[pooling]([logits_alone(ids) for ids in windows])
        np.testing.assert_allclose(output, expected, atol=2e-6)


@pytest.mark.slow
def test_one_window_trains_as_without_windows(config, build):
    """The same loss and the same gradients, also with dropout."""
    rows = [rows_of(build())[i] for i in (1, 2, 4)]
    results = []
    for pooling in ("none", "mean", "max"):
        keras.utils.set_random_seed(7)
        kind = build("classification", pooling)
        model = network(kind, config)
        features, labels, _ = kind.encode(rows, labeled=True).batch(tf.range(3))
        with tf.GradientTape() as tape:
            logits = model(features, training=True)["logits"]
            loss = tf.reduce_mean(
                kind.objectives["logits"].loss(labels["logits"], logits)
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        tensors = map(tf.convert_to_tensor, (loss, *gradients))
        results.append([x.numpy() for x in tensors])
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_an_empty_window_has_no_gradient(config, build):
    """A batch and its texts one by one: the same gradients."""
    for pooling in POOL:
        kind = build("regression", pooling)
        model = network(kind, config)
        rows = [rows_of(kind)[i] for i in (0, 1, 3)]  # 4, 1 and 3 windows
        examples = kind.encode(rows, labeled=False)

        def gradients(indices, model=model, examples=examples):
            features, *_ = examples.batch(tf.constant(indices))
            with tf.GradientTape() as tape:
                total = tf.reduce_sum(model(features)["logits"] ** 2)
            return [
                tf.convert_to_tensor(x).numpy()
                for x in tape.gradient(total, model.trainable_variables)
            ]

        alone = [gradients([i]) for i in range(3)]
        for together, *parts in zip(gradients([0, 1, 2]), *alone, strict=True):
            np.testing.assert_allclose(together, sum(parts), atol=2e-4)


@pytest.mark.slow
def test_the_served_model_answers_as_predict_does(config, build, tmp_path):
    kind = build("regression", "max", max_num_windows=3)
    model = network(kind, config)
    rows = rows_of(kind)
    expected = FinetunedModel(model, kind, config).predict(rows)
    assert [x["truncated"] for x in expected] == [True, *4 * [False]]
    assert [x["num_tokens"] for x in expected] == [24, 4, 2, 24, 8]
    served = serve(model, kind, tmp_path)
    for answer, other in zip(served.answer(rows), expected, strict=True):
        assert answer == pytest.approx(other, abs=1e-6)


def test_a_format_without_windows_refuses_them(config, build, tmp_path):
    kind = build()
    saved = tmp_path / "saved"
    FinetunedModel(kind.build_model(config), kind, config).save(saved)
    for to in ("huggingface", "google_tf1"):
        with pytest.raises(
            InputError, match="support windows, .*_pooling=mean;"
        ):
            convert_checkpoint(saved, tmp_path / "converted", to)


def test_batches_of_windows(build):
    """Little padding; shares as wide as the whole; bounded evaluation."""
    kind = build()
    lengths = np.random.default_rng(2).integers(1, 60, 90)
    examples = kind.encode(
        [{"text": "fox " * n, "label": "no"} for n in lengths], labeled=True
    )

    def masks_of(batches):
        return [features["input_mask"].numpy() for features, *_ in batches]

    def train(**share):
        settings = {"batch_size": 8, "num_epochs": 1, "seed": 1}
        return masks_of(training_batches(examples, **settings, **share))

    masks = train()
    assert sum(m.sum() for m in masks) / sum(m.size for m in masks) > 0.85
    for number in range(2):
        part = train(share=BatchShard(number, 2))
        assert [m.shape[1:] for m in part] == [m.shape[1:] for m in masks]
    batches, order = evaluation_batches(examples, batch_size=20)
    masks = masks_of(batches)
    assert sorted(order) == list(range(90))
    assert sum(map(len, masks)) == 90
    assert max(len(m) * m.shape[1] for m in masks) <= 20
    assert max(map(len, masks)) > 8
    lone, _ = evaluation_batches(examples, batch_size=1)
    assert [len(m) for m in masks_of(lone)] == [1] * 90


def test_wrong_settings(config, vocab_file, build):
    with pytest.raises(InputError, match="one text and this task has the te"):
        make_kind(
            "classification",
            vocab_file,
            config,
            text_fields=("left", "right"),
            labels=("no", "yes"),
            window_pooling="max",
        )
    for settings, message in (
        ({"doc_stride": 0}, "doc_stride is 0, but must be above 0"),
        ({"max_num_windows": -2}, "max_num_windows is -2, but must be above"),
        ({"pooling": "sum"}, "window_pooling is 'sum', but must be one of"),
    ):
        with pytest.raises(InputError, match=message):
            build(**settings)
