"""What the report beside an exported model says."""

import json

import pytest
from conftest import randomize, write_vocab
from kind_examples import make_kind

from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.finetuning.finetuned_model import FinetunedModel

_ROWS = [
    {"text": "a good film", "label": "good"},
    {"text": "the fox was not good", "label": "bad"},
    {"text": "the lazy dog jumps", "label": "bad"},
]


@pytest.fixture
def model(config, tmp_path):
    kind = make_kind(
        "classification", write_vocab(tmp_path), config, labels=("bad", "good")
    )
    network = kind.build_model(config)
    randomize(network)
    return FinetunedModel(network, kind, config)


def _report(version):
    file = version.with_name(f"{version.name}.report.json")
    return json.loads(file.read_text()) if file.exists() else None


@pytest.mark.slow
def test_the_report_of_another_format(model, tmp_path):
    version = model.export(
        tmp_path / "lite", ExportConfig("litert"), rows=_ROWS
    )
    report = _report(version)
    assert report["format"] == "litert"
    assert report["precision"] == "float32"
    size = sum(x.stat().st_size for x in version.rglob("*") if x.is_file())
    assert report["bytes"] == size
    figures = model.evaluate(_ROWS)
    assert report["metrics"].keys() == figures.keys()
    for name, (before, after) in report["metrics"].items():
        assert before == pytest.approx(figures[name], abs=1e-6)
        assert after == pytest.approx(before, abs=1e-5)


def test_wrong_rows_leave_nothing(model, tmp_path):
    rows = [{"text": "a good film", "label": "great"}]
    with pytest.raises(InputError, match="Label 'great' of example 1"):
        model.export(tmp_path / "lite", ExportConfig("litert"), rows=rows)
    assert not (tmp_path / "lite").exists()


@pytest.mark.slow
def test_a_saved_model_in_bfloat16_has_a_report(model, tmp_path):
    config = ExportConfig(precision="bfloat16")
    report = _report(model.export(tmp_path / "served", config))
    assert report["precision"] == "bfloat16"
    assert "metrics" not in report
