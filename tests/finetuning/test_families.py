"""Every family: trained for every kind, adapted, saved and explained."""

import dataclasses
import json
import re

import numpy as np
import pytest
from conftest import randomize
from small_family import family_config, write_family

import keras_bert
from keras_bert import TextClassifier, TextRegressor
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.families import FAMILIES
from keras_bert.finetuning.adaptation import adapt, learning_rate_factors
from keras_bert.finetuning.by_kind import MultipleChoiceModel, load_finetuned
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.io.weight_paths import weights_by_path
from keras_bert.models.heads import build_classifier, build_token_classifier
from keras_bert.models.pretraining import build_pretraining_model

TEXTS = ["the fox", "a good dog", "a dog", "the good fox . good !"]
CONTEXT = "a fox jumps over the lazy dog and the good dog is not lazy"
# All rows in a batch, and small steps: the loss falls.
CONFIG = FinetuningConfig(
    num_train_epochs=3,
    train_batch_size=32,
    learning_rate=0.002,
    warmup_proportion=0.0,
)
_WORDS = [text.split() for text in TEXTS]
# Of each kind: its class, rows, labels and settings.
KINDS = {
    "classification": (
        TextClassifier,
        [*zip(TEXTS, TEXTS[::-1], strict=True)],
        ["x", "y", "z", "x"],
        {},
    ),
    "windows": (
        TextClassifier,
        [f"{text} {CONTEXT}" for text in TEXTS],
        ["x", "y", "y", "x"],
        {"max_seq_length": 8, "window_pooling": "mean", "doc_stride": 3},
    ),
    "multilabel": (
        keras_bert.MultiLabelClassifier,
        TEXTS,
        [["x"], ["x", "y"], [], ["y"]],
        {},
    ),
    "regression": (TextRegressor, TEXTS, [0.0, 1.0, 2.0, 0.5], {}),
    "token_classification": (
        keras_bert.TokenClassifier,
        _WORDS,
        [["B-X" if x == "dog" else "O" for x in text] for text in _WORDS],
        {},
    ),
    "crf": (
        keras_bert.TokenClassifier,
        _WORDS,
        [["B-X" if x == "dog" else "O" for x in text] for text in _WORDS],
        {"crf": True},
    ),
    "span": (
        keras_bert.QuestionAnswerer,
        [("what jumps", CONTEXT), ("what is good", CONTEXT)] * 2,
        [
            [{"text": x, "answer_start": CONTEXT.index(x)}]
            for x in ("fox", "good dog") * 2
        ],
        {"max_seq_length": 24, "max_query_length": 8, "doc_stride": 6},
    ),
    "multiple_choice": (
        MultipleChoiceModel,
        [(text, ["jumps", "is good", "lazy"]) for text in TEXTS],
        [0, 1, 2, 0],
        {},
    ),
    "embedding": (
        keras_bert.TextEmbedder,
        [*zip(TEXTS, TEXTS[::-1], strict=True)],
        None,
        {},
    ),
}
_QUICK = ("mpnet", "multilabel")
# Two kinds of each family, and a third with narrow embeddings and with rotary
# positions.
_PAIRS = [("electra", "crf"), ("gte", "regression")]
_PAIRS += [
    (family, [*KINDS][(i + j) % len(KINDS)])
    for i, family in enumerate(FAMILIES)
    for j in (0, 4)
]


@pytest.fixture
def folder(tmp_path):
    return lambda family, **options: write_family(
        tmp_path / family, family, **options
    )


def _start(kind, folder):
    of_kind, *_, settings = KINDS[kind]
    settings = {"max_seq_length": 20, **settings}
    return of_kind.from_pretrained(folder, **settings)


def _fit(model, kind, config=CONFIG):
    _, rows, labels, _ = KINDS[kind]
    return model.fit(rows, labels, config=config).history["loss"]


def _answers(model, kind):
    rows = TEXTS if kind == "embedding" else KINDS[kind][1]
    return model.predict(rows)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    ("family", "kind"),
    [
        _QUICK,
        *(pytest.param(*x, marks=pytest.mark.slow) for x in sorted(_PAIRS)),
    ],
)
def test_trained_saved_loaded_and_trained_on(family, kind, folder, tmp_path):
    model = _start(kind, folder(family))
    losses = _fit(model, kind)
    assert losses[-1] < losses[0]
    answers = _answers(model, kind)
    model.save(tmp_path / "saved")
    loaded = load_finetuned(tmp_path / "saved")
    assert type(loaded) is type(model)
    assert loaded.bert_config == model.bert_config
    assert _answers(loaded, kind) == answers
    if kind != "embedding":  # its rows have no labels
        assert "loss" in loaded.evaluate(*KINDS[kind][1:3])
    again = type(model).from_pretrained(tmp_path / "saved")
    once = dataclasses.replace(CONFIG, num_train_epochs=1)
    assert _fit(again, kind, once)[0] < losses[0]


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("family", FAMILIES)
def test_adapters_are_saved_and_merged(family, folder, tmp_path):
    base = folder(family)
    model = TextClassifier.from_pretrained(base, max_seq_length=20)
    config = dataclasses.replace(
        CONFIG, lora_rank=2, learning_rate=0.05, num_train_epochs=1
    )
    model.fit(TEXTS, ["x", "y", "y", "x"], config=config)
    model.save(tmp_path / "saved")
    answers = model.predict(TEXTS)
    keras_bert.convert_checkpoint(
        tmp_path / "saved", tmp_path / "merged", to="keras"
    )
    for name in ("saved", "merged"):
        loaded = load_finetuned(tmp_path / name)
        assert _scores(loaded.predict(TEXTS)) == pytest.approx(
            _scores(answers), abs=1e-5
        )


def _masked_lm(config):
    return build_pretraining_model(config, next_sentence=False)


@pytest.mark.parametrize(
    ("family", "pooling"),
    [
        pytest.param("bert", "mean", marks=pytest.mark.slow),
        pytest.param("electra", "pooled", marks=pytest.mark.slow),
        ("modernbert", "pooled"),
    ],
)
def test_the_default_pooling_after_a_masked_lm(family, pooling, folder):
    """transformers can open a classifier only if it is pooled."""
    masked_lm = folder(family, build=_masked_lm)
    model = TextClassifier.from_pretrained(masked_lm, ["x", "y"])
    assert model.kind.spec.settings.pooling == pooling


def test_the_head_of_modernbert_begins_as_that_of_its_masked_lm(folder):
    masked_lm = folder("modernbert", build=_masked_lm)
    given = Checkpoint.of(masked_lm).arrays
    for build, head in (
        (build_classifier, "pooler"),
        (build_token_classifier, "token_head"),
    ):
        model = build(Checkpoint.of(masked_lm).config, num_labels=2)
        load_checkpoint(model, masked_lm, new_head=True)
        weights = weights_by_path(model)
        for ours, theirs in (
            (f"{head}/dense/kernel", "masked_lm/transform/kernel"),
            (f"{head}/layer_norm/gamma", "masked_lm/layer_norm/gamma"),
        ):
            np.testing.assert_array_equal(weights[ours], given[theirs].read())


def _scores(answers):
    return [score for x in answers for score in x["scores"].values()]


@pytest.mark.parametrize(
    ("family", "settings", "frozen"),
    [
        ("mpnet", {"freeze_embeddings": True}, "embeddings relative_positions"),
        ("mpnet", {"num_frozen_layers": 1}, "embeddings relative_pos layer_0/"),
        ("modernbert", {"num_frozen_layers": 2}, "embeddings layer_"),
        ("mpnet", {"lora_rank": 2}, "embeddings relative_positions layer_"),
        ("modernbert", {"lora_rank": 2}, "embeddings final_layer_norm layer_"),
        ("electra", {"lora_rank": 2}, "embeddings flatten_tokens layer_"),
    ],
)
def test_what_is_frozen(family, settings, frozen):
    """Adapters leave all as it is that the base checkpoint holds."""
    model = build_classifier(family_config(family, 31), num_labels=2)
    adapt(model, dataclasses.replace(CONFIG, **settings))
    assert {w.path for w in model.trainable_weights} == {
        w.path
        for w in model.weights
        if "/lora_" in w.path or not w.path.startswith(tuple(frozen.split()))
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_every_weight_has_the_rate_of_its_place(family):
    model = build_classifier(family_config(family, 31), num_labels=2)
    config = dataclasses.replace(
        CONFIG,
        layer_decay=0.5,
        head_learning_rate=3 * CONFIG.learning_rate,
    )
    factors = learning_rate_factors(config, 2)
    rates = {
        w.path.split("/")[0]: next(
            factor for x, factor in factors.items() if re.search(x, w.path)
        )
        for w in model.weights
    }
    expected = {
        "embeddings": 0.125,
        "flatten_tokens": 0.125,
        "relative_positions": 0.125,
        "layer_0": 0.25,
        "layer_1": 0.5,
        "final_layer_norm": 1.0,
        "pooler": 3.0,
        "classifier": 3.0,
    }
    assert rates == pytest.approx({x: expected[x] for x in rates})


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("family", ["electra", "mpnet", "modernbert"])
def test_an_explanation_finds_the_tokens_of_a_pair(family, folder):
    """RoBERTa and MPNet have one segment, and two separators in a pair."""
    model = TextClassifier.from_pretrained(
        folder(family),
        labels=["x", "y"],
        text_fields=("text", "other_text"),
        max_seq_length=10,
    )
    randomize(model.model, 0.1)  # smooth enough for 64 steps on the way
    row = ("the fox", "good dog the fox the good dog")
    explanation = model.explain(row)
    assert explanation.truncated
    texts = dict(zip(model.kind.spec.text_fields, row, strict=True))
    by_field = {
        field: "".join(
            text[x["start"] : x["end"]]
            for x in explanation.tokens
            if x["field"] == field
        )
        for field, text in texts.items()
    }
    first, second = (x.replace(" ", "") for x in by_field.values())
    assert first == "thefox"
    assert second and "gooddogthefoxthegooddog".startswith(second)
    total = sum(token["attribution"] for token in explanation.tokens)
    difference = explanation.score - explanation.baseline_score
    assert abs(difference) > 1e-3
    assert total == pytest.approx(difference, rel=0.02, abs=1e-4)


def test_an_explanation_of_a_text_that_lost_its_beginning(folder):
    checkpoint = folder("bert")
    file = checkpoint / "tokenizer_config.json"
    values = json.loads(file.read_text())
    ours = {"truncation_side": "left", **values.get("keras_bert", {})}
    file.write_text(json.dumps(values | {"keras_bert": ours}))
    model = TextRegressor.from_pretrained(checkpoint, max_seq_length=5)
    explanation = model.explain("the quick brown fox is good")
    found = [(x["token"], x["start"]) for x in explanation.tokens]
    assert found == [("fox", 16), ("is", 20), ("good", 23)]
