import json

from keras_bert.kinds.base import build_head
from keras_bert.kinds.reports import (
    write_predictions,
    write_submission,
    write_worst_errors,
)
from keras_bert.kinds.spec import TaskSpec


def _spec(**changes):
    values = {
        "head": "classification",
        "labels": ("no", "yes", "maybe"),
        "text_fields": ("left", "right"),
        "max_seq_length": 7,
        "do_lower_case": True,
    }
    return TaskSpec(**values | changes)


def test_no_more_than_a_hundred_and_the_worst_first(tmp_path):
    errors = [("a", "b", (i * 37 % 211) / 1000, f"{i}") for i in range(211)]
    write_worst_errors(tmp_path / "e.tsv", ("g", "p", "s", "t"), errors)
    lines = (tmp_path / "e.tsv").read_text().splitlines()
    assert lines[0] == "g\tp\ts\tt"
    scores = [line.split("\t")[2] for line in lines[1:]]
    assert scores == [f"{i / 1000:.4f}" for i in range(210, 110, -1)]


def test_texts_with_tabs_and_line_breaks_keep_to_their_column(tmp_path):
    write_worst_errors(
        tmp_path / "e.tsv", ("text",), [("a", "b", 1.0, "ä\tb\r\n\u2028 c ")]
    )
    assert (tmp_path / "e.tsv").read_text(
        "utf-8"
    ) == "text\na\tb\t1.0000\tä b c\n"


def test_a_prediction_stands_beside_its_row(tmp_path):
    rows = [{"text": "the whole", "prediction": "of another"}]
    answers = [{"prediction": "whole", "text": "whole", "score": 0.5}]
    write_predictions(tmp_path / "p.jsonl", rows, answers)
    assert json.loads((tmp_path / "p.jsonl").read_text()) == {
        "text": "the whole",
        "prediction": "whole",
        "score": 0.5,
    }


def test_what_is_handed_in(tmp_path):
    predictions = ["yes", 0.12345, ["B-PER", "O"]]
    write_submission(
        tmp_path / "s.tsv", [{"prediction": p} for p in predictions]
    )
    assert (tmp_path / "s.tsv").read_text().splitlines() == [
        "index\tprediction",
        "0\tyes",
        "1\t0.123",
        "2\tB-PER O",
    ]


def test_wrong_labels_by_confidence(vocab_file, config, tmp_path):
    head = build_head(_spec(), vocab_file, config)
    labels = ["no", "yes", "maybe", "yes"]
    rows = [
        {"left": f"l{i}", "right": f"r{i}", "label": label}
        for i, label in enumerate(labels)
    ]
    answers = [
        {
            "prediction": label,
            "scores": dict(zip(head.spec.labels, scores, strict=True)),
        }
        for label, scores in (
            ("yes", (0.3, 0.5, 0.2)),
            ("yes", (0.0, 1.0, 0.0)),
            ("no", (0.9, 0.05, 0.05)),
            ("maybe", (0.1, 0.2, 0.7)),
        )
    ]
    head.write_reports(tmp_path, rows, answers)
    assert (tmp_path / "errors.tsv").read_text() == (
        "gold\tpredicted\tscore\tleft\tright\n"
        "maybe\tno\t0.9000\tl2\tr2\n"
        "yes\tmaybe\t0.7000\tl3\tr3\n"
        "no\tyes\t0.5000\tl0\tr0\n"
    )
    png = (tmp_path / "confusion_matrix.png").read_bytes()
    assert png.startswith(b"\x89PNG")


def test_numbers_by_their_distance(vocab_file, config, tmp_path):
    spec = _spec(head="regression", labels=(), text_fields=("text",))
    head = build_head(spec, vocab_file, config)
    rows = [{"text": t, "label": x} for t, x in (("a", "1"), ("b", "4.5"))]
    answers = [{"prediction": 1.25}, {"prediction": 2.0}]
    head.write_reports(tmp_path, rows, answers)
    assert (tmp_path / "errors.tsv").read_text() == (
        "gold\tpredicted\tdifference\ttext\n"
        "4.5000\t2.0000\t-2.5000\tb\n"
        "1.0000\t1.2500\t0.2500\ta\n"
    )
