import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from fit_steps import count_nothing, fit
from kind_examples import make_kind

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.kinds import network_calls
from keras_bert.training.steps import Steps

ROWS = [
    {
        "context": "the quick brown fox",
        "endings": ["jumped over the lazy dog .", "is bad", "was a movie !"],
        "label": "2",
    },
    {"context": "a film", "endings": ["!", "is good", "?"], "label": "1"},
]
# [CLS] context [SEP] ending [SEP]. Two pairs of the first row are truncated to
# 3 tokens of the context and 3 of the ending.
IDS = [
    [
        [2, 5, 7, 8, 3, 10, 12, 13, 3],
        [2, 5, 7, 8, 9, 3, 24, 26, 3],
        [2, 5, 7, 8, 3, 29, 6, 30, 3],
    ],
    [[2, 6, 23, 3, 18, 3], [2, 6, 23, 3, 24, 25, 3], [2, 6, 23, 3, 19, 3]],
]


@pytest.fixture
def kind(vocab_file, config):
    return make_kind("multiple_choice", vocab_file, config, max_seq_length=9)


@pytest.fixture
def model(kind, config):
    model = kind.build_model(config)
    randomize(model, scale=1.0)
    return model


def test_each_ending_is_a_pair_with_the_context(kind):
    examples = kind.encode(ROWS, labeled=True)
    assert examples.features["input_ids"].to_list() == IDS
    assert examples.features["segment_ids"].to_list() == [
        [[int(i > ids.index(3)) for i in range(len(ids))] for ids in texts]
        for texts in IDS
    ]
    assert examples.rows.tolist() == [0, 1]
    assert examples.labels["logits"].numpy().tolist() == [2, 1]
    assert examples.lengths.tolist() == [27, 19]
    assert not kind.encode(ROWS, labeled=False).labels


def test_a_context_is_tokenized_once(kind, model, monkeypatch):
    sizes = []

    class Counted(type(kind.tokenizer)):
        def __call__(self, texts):
            sizes.append(len(texts))
            return super().__call__(texts)

    signature = kind.signatures(model)["serving_default"]
    monkeypatch.setattr(kind.tokenizer, "__class__", Counted)
    answer = signature.function(
        tf.constant([row["context"] for row in ROWS]),
        tf.constant([row["endings"] for row in ROWS]),
    )
    assert sizes == [2, 6]
    assert answer["num_tokens"].numpy().tolist() == [27, 19]
    assert answer["truncated"].numpy().tolist() == [True, False]


def test_rows_may_differ_in_their_number_of_endings(kind, model):
    """As in tf.Examples, whose lists of endings are padded."""
    answer = kind.signatures(model)["serving_default"].function
    context = tf.constant([row["context"] for row in ROWS])
    endings = [ROWS[0]["endings"], [*ROWS[1]["endings"][:2], ""]]
    padded = answer(context, tf.constant(endings))
    alone = answer(context[1:], tf.constant([endings[1][:2]]))
    assert padded["scores"][1, 2] == 0
    np.testing.assert_allclose(
        padded["scores"][1, :2], alone["scores"][0], atol=1e-6
    )
    for name in ("choice", "num_tokens", "truncated"):
        assert padded[name][1] == alone[name][0]


def test_a_row_for_each_choice_if_they_are_long(kind, monkeypatch):
    monkeypatch.setattr(network_calls, "TOKENS_PER_ROW", 0)
    examples = kind.encode(ROWS, labeled=True)
    assert examples.features["input_ids"].to_list() == IDS
    assert examples.lengths.tolist() == [3 * 9, 3 * 7]


def test_answers_and_their_score(kind):
    logits = [np.log([0.1, 0.2, 0.7]), np.log([0.5, 0.3, 0.2])]
    answers = kind.decode(ROWS, None, {"logits": logits})
    assert [answer["choice"] for answer in answers] == [2, 0]
    np.testing.assert_allclose(answers[1]["scores"], [0.5, 0.3, 0.2])
    json.dumps(answers)
    assert kind.submission(answers[0]) == "2"
    assert kind.score(ROWS, answers, ("accuracy",)) == {"accuracy": 0.5}


@pytest.mark.slow
def test_it_learns(config, vocab_file):
    """The right ending, at any place, is the one that has the word "good"."""
    random = np.random.default_rng(5)
    rows = []
    for _ in range(60):
        label = int(random.integers(4))
        endings = ["was bad", "is a bad movie", "bad !", "the bad dog"]
        endings = list(random.permutation(endings))
        endings[label] = endings[label].replace("bad", "good")
        rows.append(
            {"context": "a film", "endings": endings, "label": str(label)}
        )
    config = dataclasses.replace(
        config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    kind = make_kind(
        "multiple_choice",
        vocab_file,
        config,
        max_seq_length=9,
        metrics=("accuracy",),
    )
    model = kind.build_model(config)
    evaluation = Evaluation(kind, rows[40:], batch_size=7)
    before = evaluation(model)[1]
    training = Steps(
        model,
        kind.objectives,
        tf.keras.optimizers.Adam(0.003),
        count_work=count_nothing,
    )
    batches = training_batches(
        kind.encode(rows[:40], labeled=True),
        batch_size=5,
        num_epochs=12,
        seed=1,
        static_shapes=True,  # one graph
    )
    fit(training, batches, steps_per_epoch=12 * 40 // 5)
    after = evaluation(model)[1]
    assert before["accuracy"] < 0.6
    assert after["accuracy"] > 0.9
    assert after["loss"] < before["loss"] / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"endings": ["a", "b"]},
            "Example 2 has 2 endings, .* the first example, 3",
        ),
        ({"endings": ["a"]}, "Example 2 has 1 endings, but .* at least two"),
        ({"endings": "a b c"}, "'a b c' is not a list of endings of example 2"),
        ({"label": "3"}, "Label '3' of example 2 is not one of 0, 1, 2, the"),
        ({"label": 3}, "Label 3 of example 2 is not one of"),
        ({"label": True}, "Label True of example 2 is not one of"),
        ({"context": None}, "Example 2 has no field 'context'"),
        ({"label": None}, "Label None of example 2"),
    ],
)
def test_a_wrong_row_is_named(kind, change, message):
    row = {k: v for k, v in {**ROWS[1], **change}.items() if v is not None}
    with pytest.raises(InputError, match=message):
        kind.encode([ROWS[0], row], labeled=True)
