import numpy as np
import pytest
from kind_examples import make_kind

from keras_bert.kinds.registry import get_kind


@pytest.fixture
def build(config, vocab_file):
    def build(**changes):
        spec = {"labels": ("no", "yes", "maybe"), **changes}
        return make_kind("classification", vocab_file, config, **spec)

    return build


def test_answers_and_their_score(build):
    kind = build(labels=("0", "1"))
    outputs = {"logits": [np.log([0.25, 0.75]), np.log([0.5, 0.125])]}
    answers = kind.decode([], None, outputs)
    assert [answer["label"] for answer in answers] == ["1", "0"]
    assert answers[0]["scores"] == pytest.approx({"0": 0.25, "1": 0.75})
    rows = [{"label": "1"}, {"label": "1"}]
    assert kind.score(rows, answers, ("accuracy", "f1")) == {
        "accuracy": 0.5,
        "f1": pytest.approx(2 / 3),
    }
    assert kind.submission(answers[0]) == "1"


def test_metrics():
    metrics = get_kind("classification").metrics
    gold, predicted = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]
    assert {
        name: metric(gold, predicted) for name, metric in metrics.items()
    } == pytest.approx({"accuracy": 3 / 5, "f1": 2 / 3, "matthews": 1 / 6})
    # With three classes, it is the R_K correlation, as for the task glue/ax.
    matthews = metrics["matthews"]
    assert matthews([0, 1, 2, 0], [0, 1, 2, 1]) == pytest.approx(0.7)


def test_reports(build, tmp_path):
    kind = build(text_fields=("left", "right"))
    labels = ["no", "yes", "maybe", "yes"]
    rows = [
        {"left": f"l{i}", "right": f"r{i}", "label": label}
        for i, label in enumerate(labels)
    ]
    answers = [
        {
            "label": label,
            "scores": dict(zip(kind.spec.labels, scores, strict=True)),
        }
        for label, scores in (
            ("yes", (0.3, 0.5, 0.2)),
            ("yes", (0.0, 1.0, 0.0)),
            ("no", (0.9, 0.05, 0.05)),
            ("maybe", (0.1, 0.2, 0.7)),
        )
    ]
    kind.write_reports(tmp_path, rows, answers)
    assert (tmp_path / "errors.tsv").read_text() == (
        "gold\tpredicted\tscore\tleft\tright\n"
        "maybe\tno\t0.9000\tl2\tr2\n"
        "yes\tmaybe\t0.7000\tl3\tr3\n"
        "no\tyes\t0.5000\tl0\tr0\n"
    )
    assert (tmp_path / "confusion_matrix.png").exists()
