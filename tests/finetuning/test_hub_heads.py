"""Models of the Hub with a head, and what their own libraries answer."""

import dataclasses
import json
import shutil

import numpy as np
import pandas as pd
import pytest

import keras_bert
from keras_bert.errors import InputError
from keras_bert.export.mask_filler import load_mask_filler
from keras_bert.finetuning import load_finetuned
from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.finetuning.evaluation import Predictor
from keras_bert.predict.served_model import ServedModel

PAIR = ("text", "text_pair")
TEXTS = [{"text": "A lovely film."}, {"text": "Paris, awful Paris"}]
PAIRS = [{"query": "is it red", "document": x} for x in ("blue", "a book")]
# The kind of each folder, and rows to ask.
KINDS = {
    "sentiment": ("classification", TEXTS),
    "unnamed_labels": ("classification", TEXTS),
    "multilabel": ("multilabel", TEXTS),
    "regression": ("regression", TEXTS),
    "reranker": ("reranker", PAIRS),
    "ner": ("token_classification", TEXTS),
    "span": (
        "span",
        [{"question": "who", "context": "the actor in Paris, a good actor"}],
    ),
    "choice": (
        "multiple_choice",
        [{"prompt": "the film was", "choices": ["lovely", "a red book"]}],
    ),
    "next_sentence": (
        "next_sentence",
        [{"text": "is it red", "next_text": "the book was red"}],
    ),
    "embedder_prompts_dense": ("embedding", TEXTS),
}


@pytest.fixture
def heads(shared):
    return shared / "golden/hub_heads"


@pytest.fixture
def load(heads):
    """Loads a folder, and returns it with what is expected."""

    def load(name, **keywords):
        expected = json.loads((heads / name / "expected.json").read_text())
        return load_finetuned(heads / name, **keywords), expected

    return load


def _ask(model, rows):
    """Returns the outputs of the network and the answers, of one pass."""
    examples = model.kind.encode(rows, labeled=False)
    batches = evaluation_batches(examples, batch_size=8)
    outputs, _ = Predictor(model.model, model.kind.objectives)(*batches)
    return outputs, model.kind.answer(rows, examples, outputs)


def _assert_close(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def _rows(fields, values):
    return [dict(zip(fields, row, strict=True)) for row in values]


@pytest.mark.parametrize(
    "name",
    [
        "sentiment",
        pytest.param("unnamed_labels", marks=pytest.mark.slow),
        "multilabel",
        pytest.param("regression", marks=pytest.mark.slow),
    ],
)
def test_a_text(load, name):
    model, expected = load(name)
    assert model.kind.name == KINDS[name][0]
    rows = [{"text": text} for text in expected["texts"]]
    outputs, answers = _ask(model, rows)
    _assert_close(outputs["logits"], expected["logits"])
    for answer, scores in zip(
        answers, expected.get("answers", [None] * 5), strict=True
    ):
        for label in scores or ():
            score = answer["scores"][label["label"]]
            assert score == pytest.approx(label["score"], abs=1e-5)
        if scores and name != "multilabel":
            best = max(scores, key=lambda label: label["score"])
            assert answer["label"] == best["label"]
        elif scores:
            given = [x["label"] for x in scores if x["score"] >= 0.5]
            assert sorted(answer["labels"]) == given
    if name == "regression":
        scores = [[answer["score"]] for answer in answers]
        _assert_close(scores, expected["logits"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sentiment", "unnamed_labels", "multilabel", "regression"]
)
def test_a_pair(load, name):
    model, expected = load(name, text_fields=PAIR)
    outputs, _ = _ask(model, _rows(PAIR, expected["pairs"]))
    _assert_close(outputs["logits"], expected["pair_logits"])


@pytest.mark.slow
def test_a_reranker(load):
    model, expected = load("reranker")
    pairs = _rows(("query", "document"), expected["pairs"])
    scores = [answer["score"] for answer in model.predict(pairs)]
    _assert_close(scores, expected["scores"])
    documents = expected["documents"]
    ranked = model.rank(expected["query"], documents)
    assert [x["index"] for x in ranked] == [
        x["corpus_id"] for x in expected["ranking"]
    ]
    _assert_close(
        [x["score"] for x in ranked], [x["score"] for x in expected["ranking"]]
    )
    assert ranked[0]["document"] == documents[ranked[0]["index"]]
    assert model.rank(expected["query"], documents, top_k=2) == ranked[:2]
    assert model.rank(expected["query"], []) == []


@pytest.mark.parametrize(
    "grouping", [pytest.param("first", marks=pytest.mark.slow), "simple"]
)
def test_entities(load, grouping):
    model, expected = load("ner", settings={"entity_grouping": grouping})
    rows = [{"text": text} for text in expected["texts"]]
    outputs, answers = _ask(model, rows)
    for found, wanted in zip(
        outputs["logits"], expected["logits"], strict=True
    ):
        # Up to 1.6e-5, as the processor adds up; see the spans below.
        np.testing.assert_allclose(found[: len(wanted)], wanted, atol=3e-5)
    for text, answer, wanted in zip(
        expected["texts"][:3], answers[:3], expected[grouping], strict=True
    ):
        found = answer["entities"]
        assert [(x["type"], x["start"], x["end"]) for x in found] == [
            (x["entity_group"], x["start"], x["end"]) for x in wanted
        ]
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours["text"] == text[ours["start"] : ours["end"]]
            assert ours["score"] == pytest.approx(theirs["score"], abs=1e-5)


@pytest.mark.slow
def test_a_span(load):
    model, expected = load("span")
    (*names,) = model.kind.objectives
    # The third one is cut there, and read in windows here.
    for i, row in enumerate(_rows(("question", "context"), expected["pairs"])):
        examples = model.kind.encode([row], labeled=False)
        length = examples.lengths[0]
        outputs, (answer,) = _ask(model, [row])
        if len(examples.lengths) > 1:
            continue
        starts, ends = (np.array(expected[x][i])[:length] for x in names)
        # The random weights are large, so rounding to float32 grows: the
        # expected logits are up to 1e-5 away from those in float64, and ours
        # 1e-5 to 2e-5, as the processor adds up. The logits reach 5.4.
        for name, wanted in zip(names, (starts, ends), strict=True):
            found = outputs[name][0][:length]
            np.testing.assert_allclose(found, wanted, atol=3e-5)
        segments = examples.tokens.segment_ids[0].numpy()
        first, last = np.flatnonzero(segments)[[0, -2]]  # not [SEP]
        best = max(
            starts[start] + ends[start:][: min(30, last + 1 - start)].max()
            for start in range(first, last + 1)
        )
        assert answer["score"] == pytest.approx(best, abs=6e-5)


@pytest.mark.slow
def test_a_task_says_what_a_hub_model_does_not(heads, tmp_path):
    """config.json does not say whether a question may have no answer."""
    rows = [{"id": "1", "question": "who", "context": "the dog", "label": []}]
    task = dataclasses.replace(
        keras_bert.get_task("squad/v2"), read=lambda data_dir, split: rows
    )
    keras_bert.finetune(
        task,
        tmp_path,
        tmp_path / "out",
        checkpoint=heads / "span",
        config=keras_bert.FinetuningConfig(num_train_epochs=0),
        settings={"max_seq_length": 32, "max_query_length": 8},
    )
    assert (tmp_path / "out/null_odds.json").is_file()


@pytest.mark.slow
def test_multiple_choice(load):
    model, expected = load("choice")
    row = {"prompt": expected["prompt"], "choices": expected["choices"]}
    outputs, (answer,) = _ask(model, [row])
    _assert_close(outputs["logits"], expected["logits"])
    assert answer["choice"] == np.argmax(expected["logits"])


def test_next_sentence(load):
    model, expected = load("next_sentence")
    rows = _rows(("text", "next_text"), expected["pairs"])
    outputs, answers = _ask(model, rows)
    _assert_close(outputs["logits"], expected["logits"])
    best = np.argmax(expected["logits"], axis=1)
    assert [answer["label"] for answer in answers] == [
        ("is_next", "random")[i] for i in best
    ]


@pytest.mark.slow
def test_an_embedder(load):
    model, expected = load("embedder_prompts_dense")
    prompts = model.kind.spec.settings.named_prompts
    for name in ("plain", "query", "document"):
        prompt = prompts.get(name, "")
        rows = [{"text": prompt + text} for text in expected["texts"]]
        vectors = [answer["embedding"] for answer in model.predict(rows)]
        _assert_close(vectors, expected[name])


def test_fill_mask(heads):
    folder = heads / "fill_mask"
    expected = json.loads((folder / "expected.json").read_text())
    filler = load_mask_filler(folder, top_k=3)
    for text, wanted in zip(
        expected["texts"], expected["answers"], strict=True
    ):
        (guesses,) = filler.fill(text)
        assert [piece for piece, _ in guesses] == [
            x["token_str"] for x in wanted
        ]
        _assert_close([p for _, p in guesses], [x["score"] for x in wanted])
    with pytest.raises(InputError, match="BertForMaskedLM.*load_mask_filler"):
        load_finetuned(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_it_is_saved_and_exported(load, tmp_path, name):
    model, _ = load(name)
    kind, rows = KINDS[name]
    assert model.kind.name == kind
    answers = model.predict(rows)
    model.save(tmp_path / "saved")
    again = load_finetuned(tmp_path / "saved")
    assert again.kind.spec == model.kind.spec
    assert again.predict(rows) == answers
    model.export(tmp_path / "served")
    assert not (tmp_path / "served/1.report.json").exists()
    served = ServedModel(tmp_path / "served").answer(rows)
    for ours, theirs in zip(answers, served, strict=True):
        for key in theirs.keys() & ours.keys():
            _assert_same(theirs[key], ours[key])


def _assert_same(found, wanted):
    """Compares answers, whose numbers may differ a little."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        found, wanted = [found[x] for x in wanted], [*wanted.values()]
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            _assert_same(x, y)
    else:
        is_number = isinstance(wanted, float)
        assert found == (
            pytest.approx(wanted, abs=1e-5) if is_number else wanted
        )


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("sentiment", {"labels": ["a", "b"]}, "the model has 3: ..negative"),
        ("sentiment", {"labels": "abc"}, "'abc' is not a list of labels; give"),
        ("sentiment", {"labels": ["a", "a", "b"]}, "that all differ"),
        ("regression", {"labels": ["a"]}, "the kind regression has no labels"),
        ("sentiment", {"text_fields": ()}, "has 1 or 2 text_fields"),
        ("next_sentence", {"text_fields": ["a"]}, "has 2 text_fields"),
        ("sentiment", {"settings": {"size": 1}}, "has no setting 'size'"),
        ("sentiment", {"settings": {"max_seq_length": 65}}, "64"),
        ("sentiment", {"config": {"problem_type": "regression"}}, "regressor"),
        ("sentiment", {"config": {"architectures": ["BertModel"]}}, "BertMod"),
        ("sentiment", {"config": {"architectures": None}}, "architecture ''"),
        ("sentiment", {"config": {"model_type": "albert"}}, "the family"),
        ("sentiment", {"config": {"id2label": {"0": "a", "2": "b"}}}, "id2lab"),
        (
            "sentiment",
            {"config": {"architectures": ["BertForQuestionAnswering"]}},
            "no weights for span_labeler",
        ),
        (
            "reranker",
            {"config": {"sentence_transformers": {"activation_fn": "my.Fn"}}},
            "activation 'my.Fn'",
        ),
    ],
)
def test_what_does_not_fit_is_named(heads, tmp_path, name, keywords, message):
    folder = heads / name
    if changed := keywords.pop("config", None):
        folder = tmp_path / name
        shutil.copytree(heads / name, folder)
        values = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(values | changed))
    with pytest.raises(InputError, match=message):
        load_finetuned(folder, **keywords)


def test_labels_are_replaced_and_ranks_are_asked_for_rightly(load):
    model, _ = load("unnamed_labels", labels=["bad", 1])
    assert model.kind.spec.labels == ("bad", "1")
    with pytest.raises(InputError, match="has no score for a query"):
        model.rank("a", ["b"])
    model, _ = load("reranker")
    for query, documents, top_k, message in (
        (["a"], ["b"], None, "The query is"),
        ("a", "b", None, "'b' is not a list of documents"),
        ("a", ["b", None], None, "One of the documents is None"),
        ("a", pd.DataFrame({"text": ["b"]}), None, "is not a list of docu"),
        ("a", ["b"], 0, "top_k is 0"),
    ):
        with pytest.raises(InputError, match=message):
            model.rank(query, documents, top_k=top_k)
