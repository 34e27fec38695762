import math

import numpy as np
import pytest
from kind_examples import make_kind

from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.registry import get_kind


@pytest.fixture
def kind(config, vocab_file):
    return make_kind(
        "regression", vocab_file, config, min_value=0.0, max_value=5.0
    )


def test_answers_are_clipped_but_labels_must_be_in_the_range(kind):
    rows = [{"text": "a", "label": x} for x in ("2.5", "0", "4")]
    examples = kind.encode(rows, labeled=True)
    assert examples.labels["logits"].dtype == "float32"
    assert examples.labels["logits"].numpy().tolist() == [2.5, 0.0, 4.0]
    outputs = {"logits": np.array([[-0.5], [5.5], [3.25]])}
    answers = kind.decode(rows, examples, outputs)
    assert answers == [{"score": 0.0}, {"score": 5.0}, {"score": 3.25}]
    assert kind.submission({"score": 0.12345}) == "0.123"
    figures = kind.score(rows, answers, ("pearson",))
    expected = np.corrcoef([2.5, 0.0, 4.0], [0.0, 5.0, 3.25])[0, 1]
    assert figures == {"pearson": pytest.approx(expected)}
    for label in ("-0.1", 80):
        with pytest.raises(InputError, match=r"is outside 0.0 to 5.0, the"):
            kind.encode([{"text": "a", "label": label}], labeled=True)


def test_other_formats_leave_out_the_range(kind, config, tmp_path, caplog):
    FinetunedModel(kind.build_model(config), kind, config).save(tmp_path / "m")
    for to in ("huggingface", "google_tf1"):
        caplog.clear()
        convert_checkpoint(tmp_path / "m", tmp_path / to, to)
        assert "min_value=0.0, max_value=5.0, so the conv" in caplog.text


def test_labels_of_a_reranker_are_from_0_to_1(config, vocab_file):
    row = {"query": "a", "document": "the fox", "label": 3}
    with pytest.raises(InputError, match="outside 0.0 to 1.0, the range of th"):
        make_kind("reranker", vocab_file, config).encode([row], labeled=True)


def test_metrics():
    metrics = get_kind("regression").metrics
    figures = {
        name: metric([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
        for name, metric in metrics.items()
    }
    assert figures == pytest.approx({"pearson": 1 / 6, "spearman": 1 / 6})
    # The correlation of a single row is undefined.
    for metric in metrics.values():
        assert math.isnan(metric([2.5], [1.0]))
