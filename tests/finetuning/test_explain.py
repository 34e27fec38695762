"""Which tokens moved an answer: `explain`."""

import re

import numpy as np
import pytest
from kind_examples import make_kind

from keras_bert.errors import InputError
from keras_bert.finetuning import explain
from keras_bert.finetuning.explain import Explanation, explain_row
from keras_bert.finetuning.finetuned_model import FinetunedModel

LABELS = ("bad", "fine", "good")
KINDS = {
    "classification": {"labels": LABELS},
    "multilabel": {"labels": LABELS},
    "regression": {},
    "reranker": {},
}


def _model(name, vocab_file, config, scale=0.3, **spec):
    kind = make_kind(name, vocab_file, config, **{**KINDS[name], **spec})
    model = kind.build_model(config)
    random = np.random.default_rng(5)
    for weight in model.trainable_weights:  # so that words differ
        weight.assign_add(random.normal(scale=scale, size=weight.shape))
    return model, kind


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[] if x == "classification" else pytest.mark.slow)
        for x in KINDS
    ],
)
def test_the_attributions_add_up_to_the_change_of_the_score(
    name, vocab_file, config
):
    model, kind = _model(name, vocab_file, config)
    first, *second = kind.spec.text_fields
    row = {first: "a very good film"} | dict.fromkeys(second, "the dog")
    explanation = explain_row(model, kind, row)
    total = sum(token["attribution"] for token in explanation.tokens)
    difference = explanation.score - explanation.baseline_score
    assert abs(difference) > 0.05
    assert total == pytest.approx(difference, abs=0.01 * abs(difference))


@pytest.mark.slow
def test_an_uneven_network_takes_more_steps(
    vocab_file, config, monkeypatch, caplog
):
    model, kind = _model("regression", vocab_file, config, scale=1.5)
    row = {"text": "a very good film"}

    def error():
        explanation = explain_row(model, kind, row)
        total = sum(token["attribution"] for token in explanation.tokens)
        difference = explanation.score - explanation.baseline_score
        return abs(total / difference - 1)

    assert error() < 0.01 and not caplog.messages
    monkeypatch.setattr(explain, "_NUM_STEPS", (64,))
    assert error() > 0.01
    assert "needs more steps than explain" in caplog.messages[-1]


def test_the_score_is_the_log_odds_of_the_best_label(vocab_file, config):
    model, kind = _model("classification", vocab_file, config)
    answer = FinetunedModel(model, kind, config).predict(["a good dog"])[0]
    explanation = explain_row(model, kind, {"text": "a good dog"})
    assert explanation.label == answer["label"]
    probability = answer["scores"][answer["label"]]
    odds = np.log(probability / (1 - probability))
    assert explanation.score == pytest.approx(odds, abs=1e-5)
    other = explain_row(model, kind, {"text": "a good dog"}, "fine")
    assert other.label == "fine" and other.score < explanation.score


@pytest.mark.slow
def test_tokens_are_where_the_text_has_them(vocab_file, config):
    text_fields = ("text", "more")
    model, kind = _model(
        "classification", vocab_file, config, text_fields=text_fields
    )
    row = {"text": "Unaffable <film>", "more": "The dog jumped over a lazy fox"}
    explanation = explain_row(model, kind, row)
    found = [
        (x["token"], x["field"], row[x["field"]][x["start"] : x["end"]])
        for x in explanation.tokens
    ]
    assert found == [
        ("un", "text", "Un"),
        ("##aff", "text", "aff"),
        ("##able", "text", "able"),
        ("[UNK]", "text", "<"),
        ("film", "text", "film"),
        ("the", "more", "The"),
        ("dog", "more", "dog"),
        ("jump", "more", "jump"),
        ("##ed", "more", "ed"),
    ]
    assert explanation.truncated
    html = explanation.to_html()
    assert "&lt;</span>" in html and "&gt;" in html
    assert html.count("<span") == len(found)
    assert html == explanation._repr_html_()


def test_tokens_that_share_a_character_are_shown_once():
    """Byte-level pieces of an emoji, and Korean letters taken apart."""
    places = [("ü", 0, 1, 0.5), ("b", 1, 2, -3.0)]
    places += [
        (x, 3, 4, value) for x, value in zip("abc", (4, 1, -2), strict=True)
    ]
    tokens = [
        {"token": x, "field": "text", "start": i, "end": j, "attribution": y}
        for x, i, j, y in places
    ]
    explanation = Explanation({"text": "üb 😀!"}, None, 0.5, 0, tokens, False)
    html = explanation.to_html()
    assert re.sub("<[^>]+>", "", html) == "+0.50üb 😀!"
    assert re.findall(r'title="(\S+)"', html) == ["+0.500", "-3.000", "+3.000"]
    assert html.count(", 1.00)") == 2


def test_a_word_that_the_network_cannot_see_has_no_part(vocab_file, config):
    model, kind = _model("regression", vocab_file, config)
    table = model.get_layer("embeddings").word_embeddings
    ids = kind.tokenizer.vocab.index("good"), kind.tokenizer.mask_id
    values = table.numpy()
    values[ids[0]] = values[ids[1]]
    table.assign(values)
    tokens = explain_row(model, kind, {"text": "a good dog"}).tokens
    assert tokens[1]["attribution"] == 0 != tokens[0]["attribution"]


def test_what_it_refuses(vocab_file, config):
    model, kind = _model("classification", vocab_file, config)
    asked = FinetunedModel(model, kind, config)
    with pytest.raises(InputError, match="one text, pair or row"):
        asked.explain(["a film"])
    with pytest.raises(InputError, match="no label 'great'"):
        asked.explain("a film", "great")
    with pytest.raises(InputError, match="no field"):
        asked.explain({"title": "a film"})
    kind = make_kind(
        "regression", vocab_file, config, window_pooling="mean", doc_stride=4
    )
    with pytest.raises(InputError, match="in windows"):
        explain_row(kind.build_model(config), kind, {"text": "a film"})
    kind = make_kind("token_classification", vocab_file, config, labels=LABELS)
    with pytest.raises(InputError, match="more than one label or number"):
        explain_row(model, kind, {"words": ["a"]})


def test_an_empty_text_has_no_tokens(vocab_file, config):
    model, kind = _model("regression", vocab_file, config)
    explanation = explain_row(model, kind, {"text": ""})
    assert explanation.tokens == [] and not explanation.truncated
    assert explanation.score == pytest.approx(explanation.baseline_score)
