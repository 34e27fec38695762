"""What the heads say of rows that hold no texts, or none at all."""

import pytest

from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.base import build_head
from keras_bert.kinds.spec import TaskSpec

TEXT_FIELDS = {
    "classification": ("text",),
    "regression": ("text",),
    "multiple_choice": ("context", "endings"),
    "token_classification": ("words",),
    "span": ("question", "context"),
}


def _build(head, config, vocab_file):
    has_labels = head in ("classification", "token_classification")
    spec = TaskSpec(
        head=head,
        labels=("O", "B-X") if has_labels else (),
        text_fields=TEXT_FIELDS[head],
        max_seq_length=12,
        do_lower_case=True,
        max_query_length=4,
        doc_stride=3,
    )
    return build_head(spec, vocab_file, config)


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("classification", {"text": ["a", "b"]}, r"text .* 2 is \['a', 'b'\]"),
        ("classification", {"text": None}, "text of example 2 is None; give"),
        ("regression", {"text": 3}, "text of example 2 is 3; give a string"),
        ("regression", {"text": "a \ud83d"}, "has half of a character"),
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
        ("token_classification", {"words": 7}, "are 7; give a list of strings"),
        (
            "span",
            {"question": "Who?", "context": "\ude00"},
            "The context of question 2 has half of a character",
        ),
    ],
)
def test_what_is_no_text_is_named(config, vocab_file, head, row, message):
    good = {
        "text": "a",
        "context": "a",
        "question": "a",
        "endings": ["a", "film"],
        "words": ["a"],
    }
    with pytest.raises(ValueError, match=message):
        _build(head, config, vocab_file).encode([good, row], labeled=False)


@pytest.mark.parametrize(
    ("head", "label", "message"),
    [
        ("classification", ["O"], r"Label \['O'\] of example 1 is not one of"),
        ("token_classification", [["O"]], r"Label \['O'\] of example 1 is not"),
        ("token_classification", 5, "1 words and the label 5; give a list"),
        ("regression", "nan", "Label 'nan' of example 1 is not a number"),
    ],
)
def test_labels_of_another_kind(config, vocab_file, head, label, message):
    row = {"text": "a", "words": ["a"], "label": label}
    with pytest.raises(ValueError, match=message):
        _build(head, config, vocab_file).encode([row], labeled=True)


@pytest.mark.parametrize("head", list(TEXT_FIELDS))
def test_no_rows_have_no_answers(config, vocab_file, head):
    head = _build(head, config, vocab_file)
    model = FinetunedModel(head.build_model(config), head)
    assert model.predict([]) == []
