import json
import sys
import types

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.predict import beam as module
from keras_bert.predict.beam import predict_files_with_beam
from keras_bert.predict.predict_files import predict_files
from keras_bert.predict.served_model import ServedModel

OPTIONS = ["--runner=DirectRunner"]


def _sorted_answers(files):
    lines = [line for file in files for line in file.read_text().splitlines()]
    answers = [json.loads(line) for line in lines]
    return sorted(answers, key=lambda x: (x.get("text", ""), x.get("line", 0)))


@pytest.mark.slow
def test_the_same_answers_as_the_local_run(served, tmp_path):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    words = "the a quick brown fox over lazy dog film good bad movie".split()
    random = np.random.default_rng(1)
    texts = [
        " ".join(random.choice(words, n)) for n in random.integers(0, 9, 300)
    ]
    (tmp_path / "a.tsv").write_text("\n".join(["text\tid", "x", "a\tb", "y"]))
    (tmp_path / "b.text").write_text("\n".join(texts))
    files = f"{tmp_path}/a.tsv,{tmp_path}/*.text"
    num_errors = predict_files_with_beam(
        served,
        files,
        tmp_path / "beam.jsonl",
        num_shards=3,
        pipeline_options=OPTIONS,
    )
    assert predict_files(served, files, tmp_path / "local") == num_errors == 2
    shards = sorted(tmp_path.glob("beam-*-of-00003.jsonl"))
    assert len(shards) == 3
    found = _sorted_answers(shards)
    expected = _sorted_answers([tmp_path / "local"])
    assert len(found) == len(expected) == 303
    for answer, other in zip(found, expected, strict=True):
        scores = answer.pop("scores", {})
        assert scores == pytest.approx(other.pop("scores", {}), abs=1e-5)
        assert answer == other


@pytest.mark.slow
def test_a_process_loads_the_model_once(served, tmp_path, monkeypatch):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    loaded = []
    monkeypatch.setattr(
        module,
        "ServedModel",
        lambda *args: loaded.append(args) or ServedModel(*args),
    )
    for name in "abc":
        (tmp_path / f"{name}.text").write_text("a film\n" * 70)
    predict_files_with_beam(
        served,
        f"{tmp_path}/*.text",
        str(tmp_path / "out.jsonl"),
        pipeline_options=OPTIONS
        + ["--direct_running_mode=multi_threading", "--direct_num_workers=2"],
    )
    assert len(loaded) == 1
    files = list(tmp_path.glob("out-*.jsonl"))
    assert len(_sorted_answers(files)) == 210


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ([(3, 5)], 3),
        ([(0, 5)], 0),
        ([(None, 5), (2, None)], 7),
        ([(None, None)], 0),
        ([], 0),
    ],
)
def test_a_runner_may_report_less(counters, expected, caplog):
    counters = [
        types.SimpleNamespace(committed=committed, attempted=attempted)
        for committed, attempted in counters
    ]
    assert module._sum(counters) == expected
    is_known = any(x.committed or x.attempted for x in counters)
    assert ("does not report" in caplog.text) != is_known


def test_without_beam_a_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(InputError, match="apache-beam is missing; run pip ins"):
        predict_files_with_beam("served", "text.txt", "out.jsonl")


def test_a_wrong_model_is_reported_before_the_pipeline_runs(tmp_path):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    (tmp_path / "a.txt").write_text("a film")
    with pytest.raises(InputError, match="is not an exported model"):
        predict_files_with_beam(
            tmp_path, str(tmp_path / "a.txt"), str(tmp_path / "out.jsonl")
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
