import json

import numpy as np
import pytest

from keras_bert.kinds.base import build_head
from keras_bert.kinds.spec import TaskSpec
from keras_bert.tasks import get_task


def _head(config, vocab_file, task=None, **changes):
    values = {
        "head": "classification",
        "labels": ("0", "1"),
        "text_fields": ("sentence",),
        "max_seq_length": 12,
        "do_lower_case": True,
    }
    if task:
        task = get_task(task)
        values |= {
            "head": task.head,
            "labels": task.labels,
            "text_fields": task.text_fields,
        }
    return build_head(TaskSpec(**values | changes), vocab_file, config)


def test_pairs_and_their_labels(config, vocab_file):
    head = _head(config, vocab_file, "glue/mrpc")
    rows = [
        {"sentence1": "the fox", "sentence2": "a dog", "label": "1"},
        {"sentence1": "film", "sentence2": "bad", "label": "0"},
    ]
    examples = head.encode(rows, labeled=True)
    assert examples.features["input_ids"].to_list() == [
        [2, 5, 9, 3, 6, 15, 3],
        [2, 23, 3, 26, 3],
    ]
    assert examples.labels["logits"].numpy().tolist() == [1, 0]
    assert examples.rows.tolist() == [0, 1]


def test_answers_of_a_classifier(config, vocab_file):
    head = _head(config, vocab_file)
    outputs = {"logits": [np.log([0.25, 0.75]), np.log([0.5, 0.125])]}
    answers = head.decode([], None, outputs)
    assert [a["prediction"] for a in answers] == ["1", "0"]
    assert answers[0]["scores"] == pytest.approx({"0": 0.25, "1": 0.75})
    rows = [{"label": "1"}, {"label": "1"}]
    assert head.score(rows, answers, ("accuracy", "f1")) == {
        "accuracy": 0.5,
        "f1": pytest.approx(2 / 3),
    }


def test_numbers_of_a_regression_are_kept_in_their_range(config, vocab_file):
    head = _head(
        config, vocab_file, head="regression", labels=(), value_range=(0, 5)
    )
    rows = [{"sentence": "a", "label": x} for x in ("2.5", "-1", "4")]
    examples = head.encode(rows, labeled=True)
    assert examples.labels["logits"].dtype == "float32"
    assert examples.labels["logits"].numpy().tolist() == [2.5, -1.0, 4.0]
    outputs = {"logits": np.array([[-0.5], [5.5], [3.25]])}
    answers = head.decode(rows, examples, outputs)
    assert [a["prediction"] for a in answers] == [0.0, 5.0, 3.25]
    rows[1]["label"] = "high"
    with pytest.raises(ValueError, match="'high' of example 2 is not a number"):
        head.encode(rows, labeled=True)


def test_unknown_labels_and_missing_fields_are_named(config, vocab_file):
    head = _head(config, vocab_file)
    with pytest.raises(ValueError, match="'2' of example 1 is not one of 0, 1"):
        head.encode([{"sentence": "a", "label": "2"}], labeled=True)
    with pytest.raises(ValueError, match="Label None of example 1"):
        head.encode([{"sentence": "a"}], labeled=True)
    with pytest.raises(ValueError, match="Example 1 has no field 'sentence'"):
        head.encode([{"text": "a"}], labeled=False)


def test_the_spec_comes_back_from_its_file(config, vocab_file, tmp_path):
    spec = _head(config, vocab_file, value_range=(0.0, 5.0)).spec
    file = tmp_path / "task.json"
    file.write_text(spec.to_json())
    assert TaskSpec.from_json(file) == spec
    json.loads(file.read_text())


@pytest.mark.parametrize("field", ["features", "bilstm_size"])
def test_a_model_that_the_head_has_not_is_refused(config, vocab_file, field):
    with pytest.raises(ValueError, match=f"{field} is .* regression task"):
        _head(config, vocab_file, head="regression", labels=(), **{field: 3})


def test_a_classifier_with_a_bilstm(config, vocab_file):
    model = _head(config, vocab_file, bilstm_size=4).build_model(config)
    assert {"bilstm_0", "bilstm_1"} <= {layer.name for layer in model.layers}
