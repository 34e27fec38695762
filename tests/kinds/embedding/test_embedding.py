import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import assert_answers, export, make_kind
from scipy import stats
from small_checkpoint import write_checkpoint

from keras_bert.errors import InputError
from keras_bert.finetuning import FinetunedModel
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.run import FinetuningConfig, finetune
from keras_bert.kinds import network_calls
from keras_bert.models.embedder import build_embedder
from keras_bert.tasks.base import Task
from keras_bert.training.distribution import precision

TRIPLETS = [
    {
        "anchor": "a quick fox jumped over the dog",
        "positive": "the fox jumped",
        "negative": "a lazy dog",
    },
    {"anchor": "the film", "positive": "a movie", "negative": "the fox !"},
]
SCORED = [
    {"anchor": "a film", "positive": "the movie", "label": "4.5"},
    {"anchor": "a lazy dog", "positive": "bad movie !", "label": "0.25"},
    {"anchor": "quick fox", "positive": "the fox was quick", "label": "4.5"},
    {"anchor": "not bad", "positive": "is it ?", "label": "1"},
]
VECTORS = [{"anchor": "a fox", "label": [0.5, -1.0]}]
UNSCORED = [{k: row[k] for k in ("anchor", "positive")} for row in TRIPLETS]


@pytest.fixture
def build(config, vocab_file):
    def build(**spec):
        spec = {"max_seq_length": 8, **spec}
        return make_kind("embedding", vocab_file, config, **spec)

    return build


def _model(kind, config):
    model = kind.build_model(config)
    randomize(model, scale=1.0)
    return model


def test_every_text_is_a_sequence_of_its_own(build):
    examples = build().encode(TRIPLETS, labeled=True)
    assert examples.features["input_ids"].to_list() == [
        # The anchor is cut to 6 word pieces.
        [[2, 6, 7, 9, 10, 12, 13, 3], [2, 5, 9, 10, 12, 3], [2, 6, 14, 15, 3]],
        [[2, 5, 23, 3], [2, 6, 30, 3], [2, 5, 9, 18, 3]],
    ]
    assert not any(examples.features["segment_ids"].flat_values)
    assert examples.truncated.tolist() == [True, False]
    assert examples.are_choices


def test_equal_texts_have_equal_ids(build):
    rows = [*TRIPLETS, {**TRIPLETS[0], "anchor": "the film"}]
    (ids,) = build().encode(rows, labeled=True).labels.values()
    assert ids.dtype == tf.int32
    ids = ids.numpy()
    assert ids.min() >= 0
    texts = [list(row.values()) for row in rows]
    for place, value in np.ndenumerate(ids):
        for other, value_of_other in np.ndenumerate(ids):
            same = texts[place[0]][place[1]] == texts[other[0]][other[1]]
            assert (value == value_of_other) == same


@pytest.mark.parametrize(
    "max_tokens", [pytest.param(0, marks=pytest.mark.slow), 128]
)
def test_answers_are_cosines_of_the_networks_vectors(
    build, config, monkeypatch, max_tokens
):
    """Whether the texts share a row or not."""
    monkeypatch.setattr(network_calls, "TOKENS_PER_ROW", max_tokens)
    kind = build(normalize=False)
    finetuned = FinetunedModel(_model(kind, config), kind, config)
    texts = [text for row in TRIPLETS for text in row.values()]
    answers = finetuned.predict([{"anchor": text} for text in texts])
    vectors = np.array([x["embedding"] for x in answers]).reshape(2, 3, 12)
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = np.einsum("BCH,BH->BC", unit[:, 1:], unit[:, 0])
    answers = finetuned.predict(TRIPLETS)
    assert list(answers[0]) == ["similarities", "truncated", "num_tokens"]
    np.testing.assert_allclose(
        [answer["similarities"] for answer in answers], cosines, atol=1e-5
    )
    answers = finetuned.predict(UNSCORED)
    np.testing.assert_allclose(
        [answer["similarity"] for answer in answers], cosines[:, 0], atol=1e-5
    )
    assert [answer["num_tokens"] for answer in answers] == [8 + 6, 4 + 4]
    assert kind.submission({"similarity": 0.25}) == "0.250000"


@pytest.mark.slow
def test_the_served_model_answers_as_predict_does(build, config, tmp_path):
    kind = build(dimensions="12, 5", pooling="max")
    model = _model(kind, config)
    predict = FinetunedModel(model, kind, config).predict
    version = export(model, kind, tmp_path / "served")
    description = json.loads((version / "assets" / "model.json").read_text())
    assert description["sizes"] == [12, 5]
    assert {
        n: [*x["inputs"]] for n, x in description["signatures"].items()
    } == {
        "serving_default": ["anchor"],
        "embed": ["anchor"],
        "similarity": ["anchor", "positive"],
    }
    signatures = tf.saved_model.load(str(version)).signatures
    texts = [row["anchor"] for row in TRIPLETS] + ["", "bad"]
    pairs = [{"anchor": text, "positive": text[::2]} for text in texts]
    expected = predict([{"anchor": text} for text in texts])
    lengths = np.linalg.norm([x["embedding"] for x in expected], axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    for name in ("serving_default", "embed"):
        assert_answers(signatures[name](anchor=tf.constant(texts)), expected)
    columns = {x: tf.constant([pair[x] for pair in pairs]) for x in pairs[0]}
    outputs = signatures["similarity"](**columns)
    assert min(outputs["similarity"]) < 0.99
    assert_answers(outputs, predict(pairs))
    ids = [[2, *range(5, n), 3] + [0] * (9 - n) for n in (6, 9)]
    ids = tf.constant(ids)
    outputs = signatures["serve_ids"](
        input_ids=ids, input_mask=tf.sign(ids), segment_ids=ids * 0
    )
    expected = predict([{"anchor": "the"}, {"anchor": "the a quick brown"}])
    vectors = [x["embedding"] for x in expected]
    np.testing.assert_allclose(outputs["embedding"], vectors, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_scored_pairs_are_judged_by_the_order_of_their_cosines(build, config):
    kind = build(loss="cosent", metrics=("spearman", "pearson"))
    model = _model(kind, config)
    answers, figures = Evaluation(kind, SCORED, batch_size=3)(model)
    gold = [4.5, 0.25, 4.5, 1.0]
    cosines = [answer["similarity"] for answer in answers]
    labels = kind.encode(SCORED, labeled=True).labels["embeddings"]
    assert labels.numpy().tolist() == gold
    assert figures["spearman"] == pytest.approx(
        stats.spearmanr(gold, cosines)[0]
    )
    assert figures["pearson"] == pytest.approx(np.corrcoef(gold, cosines)[0, 1])
    assert figures["loss"] > 0
    # The loss of pairs with negatives says nothing of scored pairs.
    assert build().encode(SCORED, labeled=True).labels == {}
    build().encode([SCORED[0], UNSCORED[0]], labeled=False)


def test_a_negative_as_near_as_the_positive_is_an_error(build):
    kind = build(metrics=("triplet_accuracy",))
    answers = [{"similarities": [0.5, x]} for x in (0.25, 0.5)]
    figures = kind.score(TRIPLETS, answers, kind.spec.metrics)
    assert figures == {"triplet_accuracy": 0.5}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"positive": "a"}], "Example 1 has no field 'anchor', only positive"),
        ([{"anchor": "a", "negative": "b"}], "1 has no field 'positive', only"),
        (
            [{"text": "a"}],
            "Example 1 has no field 'anchor', only text; a row may leave out",
        ),
        (
            [TRIPLETS[0], SCORED[0]],
            "Example 2 has the texts anchor, positive and a label, but",
        ),
        ([SCORED[0], {**SCORED[0], "label": "x"}], "Label 'x' of example 2 is"),
        ([{"anchor": 3, "positive": "a", "label": 1}], "The anchor of exam"),
    ],
)
def test_a_wrong_row_is_named(build, rows, message):
    with pytest.raises(InputError, match=message):
        build(loss="cosent").encode(rows, labeled=True)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("2.5", "label of example 2 is '2.5', but must be a vector"),
        ([0, 0], "finite numbers that are not all 0"),
        ([float("nan"), 1], "example 2 is .nan, 1., but must be a vector"),
        ([[1.0, 2.0]], "example 2 is ..1.0, 2.0.., but must be a vector"),
        ([1, 2, 3], "example 2 has 3 numbers, but the labels before it have 2"),
    ],
)
def test_a_label_that_is_no_vector_is_named(build, label, message):
    rows = [*VECTORS, {"anchor": "a dog", "label": label}]
    with pytest.raises(InputError, match=message):
        build(loss="vector").encode(rows, labeled=True)


@pytest.mark.parametrize(
    ("metric", "rows", "message"),
    [
        ("spearman", TRIPLETS, "metric spearman needs rows with two texts and"),
        ("pearson", TRIPLETS, "have the texts anchor, positive, negative and "),
        ("triplet_accuracy", SCORED, "needs rows with three or more texts and"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused_before_training(
    build, metric, rows, message
):
    with pytest.raises(InputError, match=message):
        Evaluation(build(metrics=(metric,)), rows, batch_size=3)


@pytest.mark.parametrize(
    ("loss", "rows", "message"),
    [
        ("cosent", TRIPLETS, "The loss cosent needs rows with two texts and a"),
        ("cosent", VECTORS, "two texts and a number as the label, but the row"),
        ("multiple_negatives", SCORED, "with two or more texts and no label"),
        (
            "multiple_negatives",
            [{"anchor": "a"}],
            "have the texts anchor and no label",
        ),
        ("triplet", SCORED, "three or more texts and no label, but the rows"),
        ("triplet", UNSCORED, "three or more texts and no label, but the row"),
        ("vector", SCORED, "one text and a vector as the label, but the rows"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(build, loss, rows, message):
    with pytest.raises(InputError, match=message):
        build(loss=loss).settings_from_data(iter(rows))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pooling": "sum"}, "pooling is 'sum', but must be one of mean, cls"),
        ({"loss": "mse"}, "loss is 'mse', but must be one of"),
        ({"scale": 0.0}, "scale is 0.0, but must be above 0"),
        ({"margin": -1.0}, "margin is -1.0, but must be above 0"),
        ({"dimensions": "12,x"}, "dimensions is '12,x', but must be distinct"),
        ({"dimensions": "12,"}, "must be distinct whole numbers"),
        ({"dimensions": "0,5"}, "must be distinct whole numbers"),
        ({"dimensions": "5", "loss": "vector"}, "leave dimensions out"),
        ({"dimensions": "5,5"}, "must be distinct whole numbers"),
        ({"dimensions": "13"}, "'13', but the network's vectors have 12 num"),
    ],
)
def test_wrong_settings_are_refused(build, config, settings, message):
    with pytest.raises(InputError, match=message):
        build(**settings).build_model(config)


@pytest.mark.slow
def test_a_pre_trained_encoder_is_evaluated_as_it_is(config, tmp_path):
    # It has no pooler.
    checkpoint = tmp_path / "pretrained"
    write_checkpoint(checkpoint, config, build=build_embedder)
    task = Task(
        kind="embedding",
        text_fields=("anchor", "positive", "negative"),
        metrics=("spearman",),
        read=lambda data_dir, split: SCORED,
        settings={"max_seq_length": 8},
        test_files={},
    )

    def evaluate(name, **settings):
        return finetune(
            task,
            tmp_path,
            tmp_path / name,
            checkpoint=checkpoint,
            config=FinetuningConfig(num_train_epochs=0),
            settings=settings,
        )

    results = evaluate("out")
    lines = (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()
    cosines = [json.loads(line)["similarity"] for line in lines]
    expected = stats.spearmanr([4.5, 0.25, 4.5, 1.0], cosines)[0]
    assert results == {"spearman": pytest.approx(expected)}
    with pytest.raises(InputError, match="no weights for pooler"):
        evaluate("refused", pooling="pooled")
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "multiple_negatives", "dimensions": "12,5"},
        pytest.param(
            {"loss": "triplet", "margin": 2.0}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"loss": "cosent", "pooling": "max"}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_the_losses_fall_in_bfloat16(build, config, settings):
    kind = build(**settings)
    examples = kind.encode(
        SCORED if settings["loss"] == "cosent" else TRIPLETS, labeled=True
    )
    features, labels, weights = examples.batch(tf.range(len(examples.rows)))
    with precision("bfloat16"):
        model = kind.build_model(config)
        optimizer = keras.optimizers.Adam(0.01)
        losses = []
        for _ in range(6):
            with tf.GradientTape() as tape:
                outputs = model(features, training=False)["embeddings"]
                total, count = kind.objectives["embeddings"].sums(
                    labels["embeddings"], outputs, weights["embeddings"]
                )["loss"]
                loss = total / count
            variables = model.trainable_variables
            optimizer.apply(tape.gradient(loss, variables), variables)
            losses.append(float(loss))
    assert outputs.dtype == tf.float32
    assert losses[-1] < losses[0]
