import csv
import logging

import numpy as np
import pytest
import tensorflow as tf
from kind_examples import make_kind
from seqeval import metrics, scheme
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert.kinds.token_classification.entities import (
    METRICS,
    find_entities,
    split_tags,
)


def _score(vocab_file, config, labels, gold, predicted):
    task = "token_classification"
    kind = make_kind(task, vocab_file, config, labels=tuple(labels))
    rows = [{"words": [""] * len(tags), "label": tags} for tags in gold]
    return kind.score(rows, [{"tags": tags} for tags in predicted], METRICS)


def test_the_figures_of_conlleval(shared, vocab_file, config, tmp_path):
    text = (shared / "golden" / "ner_conlleval.txt").read_text()
    rows, answers = [], []
    for block in text.strip().split("\n\n"):
        lines = [line.split(" ") for line in block.splitlines()]
        words, gold, predicted = zip(*lines, strict=True)
        rows.append({"words": words, "label": gold})
        answers.append({"tags": predicted})
    types = ("PER", "ORG", "LOC", "MISC")
    labels = ("O", *(f"{prefix}-{name}" for name in types for prefix in "BI"))
    kind = make_kind("token_classification", vocab_file, config, labels=labels)
    figures = kind.score(rows, answers, METRICS)
    accuracy = figures.pop("accuracy")
    assert {name: round(100 * x, 2) for name, x in figures.items()} == {
        "precision": 63.13,
        "recall": 91.57,
        "f1": 74.73,
    }
    is_right = [
        tag == found
        for row, answer in zip(rows, answers, strict=True)
        for tag, found in zip(row["label"], answer["tags"], strict=True)
    ]
    assert accuracy == np.mean(is_right)

    kind.write_reports(tmp_path, rows, answers)
    with (tmp_path / "entity_types.tsv").open() as file:
        reader = csv.DictReader(file, delimiter="\t")
        table = {row["type"]: row for row in reader}
    assert {
        name: round(100 * float(row["f1"]), 2) for name, row in table.items()
    } == {"LOC": 78.27, "MISC": 63.72, "ORG": 76.15, "PER": 75.45, "all": 74.73}
    assert table["all"]["precision"] == "0.6313"
    assert table["PER"]["gold"] == "1617"
    assert (tmp_path / "confusion_matrix.png").exists()


# The places of a word: alone, the first, inside, the last one.
_SCHEMES = {
    "IOB2": "BBII",
    "IOE2": "EIIE",
    "IOBES": "SBIE",
    "BILOU": "UBIL",
    "BMES": "SBME",
}


def _tags(random, places):
    """Returns the tags of a row of random entities."""
    tags = ["O"] * random.integers(3)
    while len(tags) < 12:
        size, kind = random.integers(1, 5), random.choice(["PER", "LOC"])
        found = places[1] + places[2] * (size - 2) + places[3]
        tags += [f"{x}-{kind}" for x in (places[0] if size == 1 else found)]
        tags += ["O"] * random.integers(3)
    return tags + ["O"] * (20 - len(tags))


@pytest.mark.parametrize("name", _SCHEMES)
def test_entities_are_scored_as_seqeval_does(name, vocab_file, config):
    """Whatever tags happen to occur, they are read in the task's scheme."""
    random, places = np.random.default_rng(7), _SCHEMES[name]
    labels = ["O"]
    labels += [f"{x}-{y}" for x in sorted({*places}) for y in ("PER", "LOC")]
    gold = [_tags(random, places) for _ in range(300)]
    predicted = [
        [tag if random.random() < 0.8 else random.choice(labels) for tag in row]
        for row in gold
    ]
    found = _score(vocab_file, config, labels, gold, predicted)
    # seqeval knows IOBES only.
    names = str.maketrans("MLU", "IES")
    theirs = [
        [[tag[0].translate(names) + tag[1:] for tag in row] for row in rows]
        for rows in (gold, predicted)
    ]
    assert found == {
        "f1": metrics.f1_score(*theirs),
        "precision": metrics.precision_score(*theirs),
        "recall": metrics.recall_score(*theirs),
        "accuracy": metrics.accuracy_score(*theirs),
    }
    # A row of tags alone has the entities of the whole, also when it is served.
    ids = tf.ragged.constant([[labels.index(x) for x in y] for y in predicted])
    served = find_entities(ids, tf.ones_like(ids, tf.float32), labels, False)
    for tags, *entities in zip(
        theirs[1], *(x.to_list() for x in served[:3]), strict=True
    ):
        entities[0] = [kind.decode() for kind in entities[0]]
        assert get_entities(tags) == list(zip(*entities, strict=True))
    if name == "BMES":
        return
    # Where all tags are right, its strict mode says the same.
    others = [_tags(random, places) for _ in range(300)]
    strict = {"mode": "strict", "scheme": getattr(scheme, name)}
    expected = metrics.f1_score(gold, others, zero_division=0, **strict)
    found = _score(vocab_file, config, labels, gold, others)
    assert found["f1"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "places", "types"),
    [
        ("O B I", "I B I", ["", "_", "_"]),
        ("B M E S", "B I E S", ["_"] * 4),
        ("O I-X E-X", "I I E", ["", "X", "X"]),
        ("O B-X I-X X", "I B I I", ["", "X", "X", "X"]),
        # Types that only look like prefixes.
        ("O E-MAIL", "I I", ["", "E-MAIL"]),
        ("A B C", "I I I", ["A", "B", "C"]),
        ("S M L", "I I I", ["S", "M", "L"]),
    ],
)
def test_the_scheme_is_that_of_all_labels(labels, places, types):
    split = split_tags(labels.split())
    found = [split[label] for label in labels.split()]
    assert found == list(zip(places.split(), types, strict=True))


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ("O B_PER I_PER", "B_PER, I_PER"),
        ("O PER-B PER-I", "PER-B, PER-I"),
        ("o B-PER I-PER", "o"),
        ("O b-per i-per", "b-per, i-per"),
        ("O B-PER I-PER W-PER", "W-PER"),
        ("O B-PER I-PER B I", ""),
        ("O NOUN VERB", ""),
        ("O B-PER I-PER ORG", ""),
        ("O E-MAIL PER", ""),
    ],
)
def test_labels_like_tags_are_named(vocab_file, config, caplog, labels, named):
    with caplog.at_level(logging.WARNING):
        make_kind(
            "token_classification",
            vocab_file,
            config,
            labels=tuple(labels.split()),
        )
    said = f"The labels {named} count as entity types" if named else ""
    assert said in caplog.text and bool(said) == bool(caplog.text)


def test_a_model_that_finds_nothing_scores_0(vocab_file, config):
    gold, predicted = [["B-PER", "O", "O"]], [["O", "O", "O"]]
    figures = _score(vocab_file, config, ["O", "B-PER"], gold, predicted)
    assert figures == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 2 / 3}


def test_tags_without_a_prefix_are_entities_too(vocab_file, config):
    """The O of ORG is not the tag O."""
    gold, predicted = [["PER", "O", "ORG", "ORG"]], [["PER", "O", "O", "O"]]
    labels = ["O", "PER", "ORG"]
    figures = _score(vocab_file, config, labels, gold, predicted)
    del figures["f1"]
    assert figures == {"precision": 1, "recall": 0.5, "accuracy": 0.5}
