import dataclasses
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import make_kind
from sklearn import metrics

from keras_bert.finetuning import FinetunedModel, load_finetuned
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.multilabel import LabelThresholds

LABELS = ("good", "bad", "long", "odd")
ROWS = [
    {"text": "a good film", "label": ["good"]},
    {"text": "the lazy dog", "label": []},
    {"text": "bad , very bad", "label": ["odd", "bad", "good"]},
    {"text": "not good !", "label": ["bad", "good"]},
    {"text": "?", "label": []},
]
GOLD = [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0]]


@pytest.fixture
def build(config, vocab_file):
    def build(class_weights="", labels=LABELS, **spec):
        return make_kind(
            "multilabel",
            vocab_file,
            config,
            labels=labels,
            class_weights=class_weights,
            **spec,
        )

    return build


@pytest.fixture
def model(build, config):
    model = build().build_model(config)
    randomize(model)
    return model


def _outputs(random, num_rows, num_labels=4):
    scores = random.integers(1, 12, (num_rows, num_labels)) / 12  # some equal
    logits = np.log(scores / (1 - scores)).astype("float32")
    is_given = scores >= 0.5
    return {"logits": list(logits), "is_given": list(is_given)}


@pytest.mark.slow
def test_labels_and_weights_of_a_batch(build):
    examples = build().encode(ROWS, labeled=True)
    assert not examples.weights  # in training only
    for weights, expected in (
        ("", [1, 1, 1, 1]),
        ("balanced", [1, 1, 1, 1]),  # replaced by numbers before training
        ("0.5,2,3,1e1", [0.5, 2, 3, 10]),
    ):
        weights = build(weights).training_weights(examples.labels)
        examples = dataclasses.replace(examples, weights=weights)
        _, labels, weights = examples.batch(tf.constant([2, 1]))
        assert labels["logits"].dtype == weights["logits"].dtype == "float32"
        assert labels["logits"].numpy().tolist() == [GOLD[2], GOLD[1]]
        gold = np.array([GOLD[2], GOLD[1]])
        np.testing.assert_array_equal(
            weights["logits"], np.where(gold == 1, expected, 1)
        )
    assert not build().encode(ROWS[:1], labeled=False).labels


def test_balanced_weights_are_the_ratio_of_the_rows(build):
    assert build().settings_from_data(ROWS) == {}
    assert build("1,2,3,4").settings_from_data(ROWS) == {}
    # good 3 of 5, bad 2, long 0, odd 1.
    learned = build("balanced").settings_from_data(ROWS)
    assert learned == {"class_weights": "balanced:0.666667,1.5,5,4"}
    # Every row has the label: the weight is still above 0.
    rows = [{**row, "label": ["long"]} for row in ROWS]
    learned = build("balanced").settings_from_data(rows)
    assert learned == {"class_weights": "balanced:5,5,0.2,5"}
    build(**learned)


@pytest.fixture
def decider():
    """A network of the layer that is tuned."""
    logits = keras.Input((4,))
    given = LabelThresholds(name="label_thresholds")(logits)
    return keras.Model(logits, given)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_is_better(build, decider, seed):
    """Tries a threshold below, at and above every score."""
    random = np.random.default_rng(seed)
    kind = build()
    outputs = _outputs(random, 23)
    scores = 1 / (1 + np.exp(-np.stack(outputs["logits"])))
    gold = random.random((23, 4)) < scores * [0.5, 1, 2, 0]
    labels = {"logits": tf.constant(gold, tf.float32)}
    examples = Examples({}, np.arange(len(gold)), labels)
    kind.tune(decider, examples, outputs)
    tuned = scores >= decider.layers[-1].thresholds.numpy()
    for label in range(3):
        tried = [
            metrics.f1_score(
                gold[:, label], scores[:, label] > x, zero_division=0
            )
            for x in (-1.0, *(scores[:, label] - 1e-3), *scores[:, label])
        ]
        f1 = metrics.f1_score(gold[:, label], tuned[:, label])
        assert f1 == pytest.approx(max(tried)) and f1 > 0
    # A label that no row has keeps the threshold of a new model.
    np.testing.assert_array_equal(tuned[:, 3], scores[:, 3] >= 0.5)


def test_the_f1_of_noise_is_that_of_new_rows(build, decider):
    random, kind = np.random.default_rng(1), build()
    tuned, new, on_itself = [], [], []
    for _ in range(60):
        outputs = _outputs(random, 40)
        scores = 1 / (1 + np.exp(-np.stack(outputs["logits"])))
        gold, new_gold = random.random((2, 40, 4)) < 0.2
        labels = {"logits": tf.constant(gold, tf.float32)}
        examples = Examples({}, np.arange(40), labels)
        given = np.stack(kind.tune(decider, examples, outputs)["is_given"])
        kept = scores >= decider.layers[-1].thresholds.numpy()
        for found, of, by in (
            (tuned, gold, given),
            (new, new_gold, kept),
            (on_itself, gold, kept),
        ):
            f1 = metrics.f1_score(of, by, average="macro", zero_division=0)
            found.append(f1)
    assert np.mean(on_itself) - np.mean(new) > 0.07
    assert np.mean(tuned) == pytest.approx(np.mean(new), abs=0.03)


def test_scores_are_those_of_scikit_learn(build):
    random = np.random.default_rng(6)
    gold = random.integers(0, 2, (19, 4))
    gold[:, 2] = 0  # no row has the third label
    rows = [{"label": list(itertools.compress(LABELS, row))} for row in gold]
    kind = build()
    outputs = _outputs(random, 19)
    answers = kind.decode(rows, None, outputs)
    scores = 1 / (1 + np.exp(-np.stack(outputs["logits"])))
    given = np.stack(outputs["is_given"])
    for answer, row_scores, is_given in zip(
        answers, scores, given, strict=True
    ):
        assert answer["labels"] == list(itertools.compress(LABELS, is_given))
        assert list(answer["scores"]) == list(LABELS)
        values = list(answer["scores"].values())
        assert values == pytest.approx(row_scores, abs=1e-6)
    assert kind.submission({"labels": ["good", "odd"]}) == "good odd"
    figures = kind.score(
        rows, answers, ("micro_f1", "macro_f1", "mean_average_precision")
    )
    columns = zip(gold.T, given.T, strict=True)
    f1 = [metrics.f1_score(*pair, zero_division=0) for pair in columns]
    kept = [0, 1, 3]
    precision = metrics.average_precision_score(gold[:, kept], scores[:, kept])
    assert figures == pytest.approx(
        {
            "micro_f1": metrics.f1_score(gold.ravel(), given.ravel()),
            "macro_f1": np.mean(f1),
            "mean_average_precision": precision,
        }
    )


def test_without_any_gold_label(build):
    rows = [{"label": []}] * 3
    answers = build().decode(rows, None, _outputs(np.random.default_rng(1), 3))
    figures = build().score(
        rows, answers, ("micro_f1", "mean_average_precision")
    )
    assert figures["micro_f1"] == 0
    assert np.isnan(figures["mean_average_precision"])


def test_the_loss_of_a_label_is_binary_cross_entropy(build):
    scores = np.array([[0.2, 0.7, 0.5]])
    logits = np.log(scores / (1 - scores)).astype("float32")
    labels = np.array([[1.0, 0.0, 1.0]], "float32")
    losses = build().objectives["logits"].loss(labels, logits)
    np.testing.assert_allclose(losses, -np.log([[0.2, 0.3, 0.5]]), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_tuned_thresholds_are_saved(build, model, config, tmp_path):
    kind = build(text_fields=("left", "right"))
    rows = [
        {"left": row["text"], "right": "the fox jumped", "label": row["label"]}
        for row in ROWS
    ]
    examples = kind.encode(rows, labeled=True)
    features, _, _ = examples.batch(tf.range(5))
    # The logits differ from row to row: high, low, and two around 0.
    kernel, bias = model.get_layer("classifier").weights
    kernel.assign(10 * kernel)
    means = model(features)["logits"].numpy().mean(axis=0)
    bias.assign(bias - means + [4.0, -4.0, 0.0, 0.0])
    finetuned = FinetunedModel(model, kind, config)
    untuned = finetuned.predict(rows)
    assert all("good" in answer["labels"] for answer in untuned)
    assert not any("bad" in answer["labels"] for answer in untuned)

    outputs = {name: list(x.numpy()) for name, x in model(features).items()}
    kind.tune(model, examples, outputs)
    answers = finetuned.predict(rows)
    assert any("bad" in answer["labels"] for answer in answers)
    finetuned.save(tmp_path / "saved")
    loaded = load_finetuned(tmp_path / "saved")
    assert loaded.kind.spec == kind.spec
    assert loaded.predict(rows) == answers


def test_reports(build, tmp_path):
    kind = build(labels=("good", "bad"))
    rows = [
        {"text": f"t{i}", "label": x}
        for i, x in enumerate(([], ["good"], ["good", "bad"], ["bad"]))
    ]
    answers = [
        {"labels": labels, "scores": {"good": good, "bad": bad}}
        for labels, good, bad in (
            (["good"], 0.6, 0.1),
            (["good"], 0.9, 0.2),
            (["good"], 0.7, 0.4),
            (["bad"], 0.3, 0.8),
        )
    ]
    kind.write_reports(tmp_path, rows, answers)
    assert (tmp_path / "labels.tsv").read_text() == (
        "label\tprecision\trecall\tf1\trows\n"
        "good\t0.6667\t1.0000\t0.8000\t2\n"
        "bad\t1.0000\t0.5000\t0.6667\t2\n"
    )


def test_batches_of_unknown_sizes(build):
    objective = build().objectives["logits"]

    @tf.function(input_signature=[tf.TensorSpec([None, None], "float32")] * 3)
    def sums(labels, logits, weights):
        return objective.sums(labels, logits, weights)

    labels = np.array([[1, 0, 1], [0, 0, 1]], "float32")
    logits = np.array([[2, 1, 3], [-1, -2, -3]], "float32")
    weights = np.array([[1], [0.5]], "float32") * np.ones((1, 3), "float32")
    right, total = sums(labels, logits, weights)["accuracy"]
    assert right.numpy() / total.numpy() == np.float32(3 / 4.5)
