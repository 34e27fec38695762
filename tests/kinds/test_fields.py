import pytest
from kind_examples import make_kind

from keras_bert.errors import InputError
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.registry import get_kind


@pytest.fixture
def build(config, vocab_file):
    def build(name):
        labels = ("O", "B-X") if get_kind(name).has_labels else ()
        sizes = {"max_query_length": 4, "doc_stride": 3}
        settings = sizes if name == "span" else {}
        return make_kind(name, vocab_file, config, labels=labels, **settings)

    return build


def test_pairs(config, vocab_file):
    kind = make_kind(
        "classification",
        vocab_file,
        config,
        text_fields=("sentence1", "sentence2"),
        labels=("0", "1"),
    )
    rows = [
        {"sentence1": "the fox", "sentence2": "a dog", "label": "1"},
        {"sentence1": "film", "sentence2": "bad", "label": "0"},
    ]
    examples = kind.encode(rows, labeled=True)
    assert examples.features["input_ids"].to_list() == [
        [2, 5, 9, 3, 6, 15, 3],
        [2, 23, 3, 26, 3],
    ]
    assert examples.features["segment_ids"].to_list() == [
        [0, 0, 0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1],
    ]
    assert examples.labels["logits"].numpy().tolist() == [1, 0]
    assert examples.rows.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("classification", {"text": ["a", "b"]}, r"text .* 2 is \['a', 'b'\]"),
        ("classification", {"text": None}, "text of example 2 is None; give"),
        ("multilabel", {"words": ["a"]}, "Example 2 has no field 'text'"),
        ("regression", {"text": 3}, "text of example 2 is 3; give a string"),
        ("regression", {"text": "a \ud83d"}, "is not valid Unicode"),
        (
            "multiple_choice",
            {"context": "a", "endings": ["b", 2]},
            "One of the endings of example 2 is 2; give a string",
        ),
        (
            "multiple_choice",
            {"context": 1, "endings": ["b", "c"]},
            "The context of example 2 is 1",
        ),
        (
            "token_classification",
            {"words": ["in", 2019]},
            "One of the words of example 2 is 2019; give a string",
        ),
        (
            "token_classification",
            {"words": 7},
            "7 is not a list of words of example 2; give a list of strings",
        ),
        (
            "span",
            {"question": "Who?", "context": "\ude00"},
            "context of example 2 has .*, which is not valid Unicode",
        ),
    ],
)
def test_a_field_that_is_not_a_text_is_named(build, name, row, message):
    good = {
        "text": "a",
        "context": "a",
        "question": "a",
        "endings": ["a", "film"],
        "words": ["a"],
    }
    with pytest.raises(InputError, match=message):
        build(name).encode([good, row], labeled=False)


@pytest.mark.parametrize(
    ("name", "label", "message"),
    [
        ("classification", ["O"], r"Label \['O'\] of example 1 is not one of"),
        ("classification", "X", "Label 'X' .* of the strings 'O', 'B-X';"),
        ("classification", None, "Label None of example 1"),
        ("multilabel", "O", "label of example 1 is 'O'; give a list of labels"),
        ("multilabel", ["O", "X"], "Label 'X' of example 1 is not one of"),
        ("token_classification", [["O"]], r"Label \['O'\] of example 1 is not"),
        ("token_classification", 5, "1 words and the label 5; give a list"),
        ("regression", "nan", "Label 'nan' of example 1 is not a number"),
        ("regression", "high", "Label 'high' of example 1 is not a number"),
        ("regression", None, "Label None of example 1 is not a number"),
    ],
)
def test_a_wrong_label_is_named(build, name, label, message):
    row = {"text": "a", "words": ["a"], "label": label}
    with pytest.raises(InputError, match=message):
        build(name).encode([row], labeled=True)


def test_a_whole_number_below_0_is_not_an_id(build, monkeypatch):
    """The kind of a user may return such numbers, which would be left out."""
    kind = build("regression")
    monkeypatch.setattr(kind, "gold", lambda rows: [3, -5])
    with pytest.raises(InputError, match="regression returned -5, but integ"):
        kind.encode([{"text": "a"}] * 2, labeled=True)


def test_no_rows_have_no_answers(config, build):
    kind = build("regression")
    model = FinetunedModel(kind.build_model(config), kind, config)
    assert model.predict([]) == []
