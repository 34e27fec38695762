import csv
import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.base import build_head
from keras_bert.kinds.spec import TaskSpec
from keras_bert.kinds.token_classification.entities import find_entities
from keras_bert.serving.export import export_saved_model

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
ROWS = [
    {
        "words": ["The", "unaffable", "fox", "jumped", "."],
        "label": ["O", "B-PER", "I-PER", "O", "O"],
    },
    {"words": ["\x01"], "label": ["B-LOC"]},
    {"words": [], "label": []},
    {
        # 13 tokens, in windows of 8
        "words": "a good dog jumps over the lazy , very lazy fox ?".split(),
        "label": "O B-PER I-PER O O O B-LOC B-LOC I-LOC O I-PER O".split(),
    },
]


@pytest.fixture
def head(config, vocab_file):
    spec = TaskSpec(
        head="token_classification",
        labels=LABELS,
        text_fields=("words",),
        max_seq_length=10,
        do_lower_case=True,
    )
    return build_head(spec, vocab_file, config)


@pytest.fixture
def finetuned(head, config):
    model = head.build_model(config)
    randomize(model)
    # What words say, not what all have in common, is to decide.
    kernel, bias = model.get_layer("token_classifier").weights
    kernel.assign(20 * kernel)
    bias.assign([-10.0, 0.0, 3.0, 0.0, 3.0])
    return FinetunedModel(model, head)


def test_the_label_is_on_the_first_piece_of_a_word(head):
    examples = head.encode(ROWS, labeled=True)
    assert examples.rows.tolist() == [0, 1, 2, 3, 3, 3]
    assert examples.features["input_ids"].to_list()[:4] == [
        [2, 5, 20, 21, 22, 9, 10, 12, 16, 3],
        [2, 1, 3],
        [2, 3],
        [2, 6, 25, 15, 10, 11, 13, 5, 14, 3],
    ]
    segment_ids = examples.features["segment_ids"]
    assert segment_ids.row_lengths().numpy().tolist() == [10, 3, 2, 10, 10, 10]
    assert not segment_ids.values.numpy().any()
    assert examples.labels["logits"].to_list() == [
        [-1, 0, 1, -1, -1, 2, 0, -1, 0, -1],
        [-1, 3, -1],
        [-1, -1],
        [-1, 0, 1, 2, 0, -1, 0, -1, -1, -1],
        [-1, -1, -1, 0, 3, -1, -1, -1, -1, -1],
        [-1, -1, -1, -1, 3, 4, 0, 2, 0, -1],
    ]
    assert head.encode(ROWS, labeled=False).labels == {}


def test_every_word_gets_the_label_that_its_token_says(head):
    """The network is replaced by one that reads the label off the token."""
    examples = head.encode(ROWS, labeled=False)
    logits = [
        np.eye(len(LABELS))[np.array(ids + [3] * i) % len(LABELS)] * 9
        for i, ids in enumerate(examples.features["input_ids"].to_list())
    ]
    answers = head.decode(ROWS, examples, {"logits": logits})
    first_pieces = [
        [5, 20, 9, 10, 16],
        [1],
        [],
        [6, 25, 15, 10, 13, 5, 14, 17, 28, 14, 9, 19],
    ]
    for answer, ids in zip(answers, first_pieces, strict=True):
        assert answer["prediction"] == [LABELS[i % len(LABELS)] for i in ids]
        probability = np.exp(9) / (np.exp(9) + 4)
        np.testing.assert_allclose(answer["scores"], probability, rtol=1e-6)
        # seqeval counts the last word in.
        expected = get_entities(answer["prediction"]) if ids else []
        found = [
            (e["type"], e["start"], e["end"] - 1) for e in answer["entities"]
        ]
        assert found == expected
    assert answers[3]["entities"][0] == {
        "type": "PER",
        "text": "a",
        "start": 0,
        "end": 1,
        "score": pytest.approx(probability),
    }


def test_entities_are_those_of_seqeval():
    random = np.random.default_rng(5)
    lengths = random.integers(0, 12, 300)
    ids = random.integers(0, len(LABELS), lengths.sum())
    scores = random.random(len(ids)).astype("float32")
    ragged_ids, ragged_scores = (
        tf.RaggedTensor.from_row_lengths(x, lengths) for x in (ids, scores)
    )
    found = find_entities(ragged_ids, ragged_scores, LABELS).to_list()
    rows = zip(ragged_ids.to_list(), ragged_scores.to_list(), strict=True)
    for entities, (row, row_scores) in zip(found, rows, strict=True):
        tags = [LABELS[i] for i in row]
        assert entities == [
            (kind, first, last, min(row_scores[first : last + 1]))
            for kind, first, last in (get_entities(tags) if tags else [])
        ]


def test_labels_without_begin_and_inside():
    ids = tf.ragged.constant([[1, 1, 0, 2], [2]])
    scores = tf.ragged.constant([[0.5, 0.25, 1.0, 1.0], [0.75]])
    found = find_entities(ids, scores, ("O", "NOUN", "VERB")).to_list()
    assert found == [
        [("NOUN", 0, 1, 0.25), ("VERB", 3, 3, 1.0)],
        [("VERB", 0, 0, 0.75)],
    ]


def test_the_reports_have_the_figures_of_conlleval(head, shared, tmp_path):
    head = _of_conll(head)
    text = (shared / "golden" / "ner_conlleval.txt").read_text()
    rows, answers = [], []
    for block in text.strip().split("\n\n"):
        words, gold, predicted = zip(
            *(line.split(" ") for line in block.splitlines()), strict=True
        )
        rows.append({"words": words, "label": gold})
        # As decode finds them.
        entities = [
            {"type": kind, "start": first, "end": last + 1}
            for kind, first, last in get_entities(list(predicted))
        ]
        answers.append({"prediction": list(predicted), "entities": entities})
    figures = head.score(rows, answers, ["f1", "recall"])
    assert {k: round(100 * v, 2) for k, v in figures.items()} == {
        "f1": 74.73,
        "recall": 91.57,
    }
    head.write_reports(tmp_path, rows, answers)
    with (tmp_path / "entity_types.tsv").open() as file:
        table = {
            row["type"]: row for row in csv.DictReader(file, delimiter="\t")
        }
    found = {
        kind: round(100 * float(row["f1"]), 2) for kind, row in table.items()
    }
    assert found == {
        "LOC": 78.27,
        "MISC": 63.72,
        "ORG": 76.15,
        "PER": 75.45,
        "all": 74.73,
    }
    assert table["all"]["precision"] == "0.6313"
    assert table["PER"]["gold"] == "1617"
    png = (tmp_path / "confusion_matrix.png").read_bytes()
    assert png.startswith(b"\x89PNG")


def _of_conll(head):
    labels = ("O",) + tuple(
        f"{prefix}-{kind}"
        for kind in ("PER", "ORG", "LOC", "MISC")
        for prefix in "BI"
    )
    spec = dataclasses.replace(head.spec, labels=labels)
    return type(head)(spec, head.tokenizer)


def test_the_saved_model_says_what_predict_says(finetuned, tmp_path):
    """Of words, and of texts in which the words stand. Exporting is slow."""
    # Spaces, control characters, accents, 4 bytes in a character, and more
    # words than fit into a window.
    texts = [
        "  The \x01unáffable𐐀fox jumped.",
        "",
        "the lazy, very quick dog! " * 5,
        "très good",
    ]
    words = [
        ["The", "\x01unáffable𐐀fox", "jumped", "."],
        [],
        ["the", "lazy", ",", "very", "quick", "dog", "!"] * 5,
        ["très", "good"],
    ]
    answers = finetuned.predict([{"words": row} for row in words])
    counts = [len(answer["entities"]) for answer in answers]
    assert counts[1] == 0 < min(counts[0], counts[3]) and counts[2] > 5
    export_saved_model(finetuned.model, finetuned.head, tmp_path / "served")
    serve = tf.saved_model.load(tmp_path / "served").signatures

    padded = [row + [""] * (37 - len(row)) for row in words]
    served = serve["words"](words=tf.constant(padded))
    assert served["tags"].shape == served["scores"].shape == (4, 37)
    for answer, tags, scores in zip(
        answers, served["tags"].numpy(), served["scores"].numpy(), strict=True
    ):
        size = len(answer["prediction"])
        assert [tag.decode() for tag in tags[:size]] == answer["prediction"]
        np.testing.assert_allclose(scores[:size], answer["scores"], atol=1e-5)
        assert not any(tags[size:]) and not scores[size:].any()

    served = serve["serving_default"](text=tf.constant(texts))
    assert served["entity_type"].shape == (4, max(counts))
    for i, (text, row, answer) in enumerate(
        zip(texts, words, answers, strict=True)
    ):
        columns = {name: x[i].numpy() for name, x in served.items()}
        place, spans = 0, []
        for word in row:
            start = text.index(word, place)
            place = start + len(word)
            # What the tokenizer drops is at no token's end.
            spans.append((start + word.startswith("\x01"), place))
        for j, entity in enumerate(answer["entities"]):
            start, end = columns["entity_start"][j], columns["entity_end"][j]
            assert start == spans[entity["start"]][0]
            assert end == spans[entity["end"] - 1][1]
            assert columns["entity_text"][j].decode() == text[start:end]
            assert columns["entity_type"][j].decode() == entity["type"]
            score = columns["entity_score"][j]
            assert score == pytest.approx(entity["score"], abs=1e-5)
        for name, column in columns.items():
            assert not any(column[counts[i] :]), name


def test_padding_and_foreign_tokens_are_not_learned(head):
    examples = head.encode(ROWS, labeled=True)
    dataset, _ = evaluation_batches(examples, batch_size=3)
    num_labels = 0
    for features, labels, weights in dataset:
        assert labels["logits"].shape == features["input_ids"].shape
        num_labels += int(tf.reduce_sum(weights["logits"]))
    assert num_labels == sum(len(row["words"]) for row in ROWS)


def test_the_spec_chooses_the_network(head, config):
    def heads(**change):
        spec = dataclasses.replace(head.spec, **change)
        model = type(head)(spec, head.tokenizer).build_model(config)
        paths = [weight.path for weight in model.trainable_weights]
        return {path.split("/")[0] for path in paths} & {
            "bilstm_0",
            "layer_0",
            "layer_weights",
            "token_classifier",
        }

    assert heads() == {"layer_0", "token_classifier"}
    assert heads(bilstm_size=7) == {"layer_0", "bilstm_0", "token_classifier"}
    assert heads(features="last") == {"token_classifier"}
    assert heads(features="weighted_sum_all", bilstm_size=7) == {
        "layer_weights",
        "bilstm_0",
        "token_classifier",
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"words": ["a"]}, "Example 2 has no field 'label'"),
        ({"label": ["O"]}, "Example 2 has no field 'words'"),
        ({"words": ["a", "dog"], "label": ["O"]}, "Example 2 has 2 words and"),
        ({"words": ["a"], "label": "O"}, "has 1 words and the label 'O'; give"),
        ({"words": ["a"], "label": ["B-ORG"]}, "'B-ORG' of example 2 is not"),
        ({"words": "a", "label": ["O"]}, "words of example 2 are 'a'; give"),
    ],
)
def test_bad_rows_are_named(head, row, message):
    with pytest.raises(ValueError, match=message):
        head.encode([ROWS[0], row], labeled=True)


def test_a_window_of_special_tokens_only_is_refused(head):
    spec = dataclasses.replace(head.spec, max_seq_length=3)
    with pytest.raises(ValueError, match="max_seq_length is 3, but a window"):
        type(head)(spec, head.tokenizer)
