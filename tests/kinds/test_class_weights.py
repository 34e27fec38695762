"""Class weights and smoothed labels: in the loss of training only."""

import numpy as np
import pytest
import tensorflow as tf
from kind_examples import make_kind
from scipy.special import log_softmax

from keras_bert.errors import InputError
from keras_bert.finetuning.encoding import encode_rows
from keras_bert.kinds.classification import parse_class_weights
from keras_bert.training.losses import weighted_mean

LABELS = ("no", "yes", "a=b")
ROWS = [
    {"text": text, "label": label}
    for text, label in [
        ("a good film", "yes"),
        ("the lazy dog", "no"),
        ("bad , very bad", "no"),
        ("not good !", "no"),
        ("?", "yes"),
    ]
]
GOLD = [1, 0, 0, 0, 1]
LOGITS = np.random.default_rng(1).normal(size=(5, 3)).astype("float32")


@pytest.fixture
def build(config, vocab_file):
    def build(name="classification", labels=LABELS, **settings):
        return make_kind(name, vocab_file, config, labels=labels, **settings)

    return build


def _loss_of_batch(kind, objectives, examples):
    _, labels, weights = examples.batch(tf.range(5))
    losses = objectives["logits"].loss(labels["logits"], LOGITS)
    return float(weighted_mean(losses, weights["logits"]))


@pytest.mark.parametrize("smoothing", [0.0, 0.15])
@pytest.mark.parametrize("weights", ["", "yes=3", "0.5, 2.5, 7"])
def test_the_loss_of_training_and_of_evaluation(
    build, tmp_path, weights, smoothing
):
    kind = build(class_weights=weights, label_smoothing=smoothing)
    log_scores = log_softmax(LOGITS.astype("float64"), axis=1)
    plain = -log_scores[range(5), GOLD]
    smoothed = (1 - smoothing) * plain - smoothing * log_scores.mean(axis=1)
    by_label = {"": [1, 1, 1], "yes=3": [1, 3, 1]}.get(weights, [0.5, 2.5, 7])
    w = np.array(by_label)[GOLD]
    training = encode_rows(kind, ROWS, tmp_path)
    assert _loss_of_batch(
        kind, kind.training_objectives, training
    ) == pytest.approx((w * smoothed).sum() / (w.sum() + 1e-5), rel=1e-6)
    evaluated = kind.encode(ROWS, labeled=True)
    assert _loss_of_batch(kind, kind.objectives, evaluated) == pytest.approx(
        plain.mean(), rel=1e-5
    )


def test_balanced_weights_give_all_labels_the_same_sum(build):
    assert build(class_weights="yes=2").settings_from_data(ROWS) == {}
    learned = build(class_weights="balanced").settings_from_data(iter(ROWS))
    # 3 rows of 5 are no, 2 yes, none a=b.
    assert learned == {"class_weights": "balanced:0.555556,0.833333,1.66667"}
    build(**learned)


def test_a_dict_of_weights(build):
    kind = build(class_weights={"yes": 2.5, "a=b": 4})
    assert kind.class_weights.tolist() == [1, 2.5, 4]
    assert kind.spec.settings.class_weights == "yes=2.5,a=b=4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes=2.5", [1, 2.5, 1]),
        ("a=b=4, no=0.5", [0.5, 1, 4]),
        ("1,2,3e1", [1, 2, 30]),
    ],
)
def test_weights_by_label(text, expected):
    assert parse_class_weights(text, LABELS).tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_weights": "ye=2"}, "each of the labels no, yes, a=b"),
        (
            {"class_weights": "yes=0"},
            "class_weights is 'yes=0'; give 'balanced'",
        ),
        (
            {"class_weights": "yes=2,yes=3"},
            "a pair such as 'no=2.5' for some of",
        ),
        (
            {"class_weights": "yes=2,3,1"},
            "one number for each of the labels",
        ),
        ({"class_weights": "yes=-2"}, "numbers above 0"),
        ({"class_weights": "yes=nan"}, "numbers above 0"),
        ({"class_weights": "yes=inf"}, "numbers above 0"),
        ({"class_weights": "yes=high"}, "numbers above 0"),
        ({"class_weights": "2"}, "one number for each of the labels"),
        ({"label_smoothing": 1.0}, "label_smoothing is 1.0, but must be below"),
        ({"label_smoothing": -0.1}, "is -0.1, but must be at least 0"),
    ],
)
def test_nonsense_is_refused(build, settings, message):
    with pytest.raises(InputError, match=message):
        build(**settings)


def test_smoothed_labels_of_other_kinds(build):
    """A tag, an ending and each of several labels."""
    logits = np.random.default_rng(2).normal(size=(2, 4, 3)).astype("float32")
    ids = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    log_scores = log_softmax(logits.astype("float64"), axis=-1)
    plain = -np.take_along_axis(log_scores, ids[..., None], -1)[..., 0]
    expected = 0.7 * plain - 0.3 * log_scores.mean(axis=-1)
    for name, labels in (
        ("token_classification", LABELS),
        ("multiple_choice", ()),
    ):
        kind = build(name, labels, label_smoothing=0.3)
        loss = kind.training_objectives["logits"].loss
        np.testing.assert_allclose(loss(ids, logits), expected, rtol=1e-5)
    kind = build("multilabel", label_smoothing=0.3)
    given = np.array([[1, 0, 1]], "float32")
    asked = np.array([[0.85, 0.15, 0.85]])
    scores = 1 / (1 + np.exp(-logits[0, :1].astype("float64")))
    np.testing.assert_allclose(
        kind.training_objectives["logits"].loss(given, logits[0, :1]),
        -asked * np.log(scores) - (1 - asked) * np.log(1 - scores),
        rtol=1e-5,
    )
