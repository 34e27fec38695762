"""predict.py runs an exported model in a process of its own."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from script_runs import error_of
from tiny_served_model import export_tiny_model

SCRIPT = Path(__file__).parent.parent / "run_scripts" / "predict.py"


@pytest.fixture(scope="module")
def served(config, tmp_path_factory):
    return export_tiny_model(
        tmp_path_factory.mktemp("served") / "model",
        config,
        "token_classification",
        labels=("O", "B-PER", "I-PER"),
    )


def _run(*args, **kwargs):
    return subprocess.run(
        [sys.executable, SCRIPT, *args],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        **kwargs,
    )


@pytest.mark.slow  # test_predict_files asks in this process
def test_answers_and_errors_are_json_lines(served, tmp_path):
    lines = [{"words": ["Élan", "!"]}, {"words": []}, {"words": ["fox"]}]
    lines = [json.dumps(line, ensure_ascii=False) for line in lines]
    args = f"--model_dir={served}", "--signature=words"
    done = _run(*args, input="\n".join(lines) + "\n")
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert first["words"] == ["Élan", "!"] and "Élan" in done.stdout
    assert len(first["tags"]) == 2 and len(third["tags"]) == 1
    assert second == {
        "line": 2,
        "error": "The words of line 2 must be a list of strings.",
    }
    assert done.returncode == 1
    assert done.stderr == "Error: 1 line could not be read.\n"

    # Some editors start a file with a byte-order mark.
    file = tmp_path / "lines.txt"
    file.write_text("\n".join([lines[0], lines[2]]), encoding="utf-8-sig")
    output = tmp_path / "answers.gz"
    from_file = _run(*args, f"--input_file={file}", f"--output_file={output}")
    assert (from_file.returncode, from_file.stdout) == (0, ""), from_file.stderr
    with gzip.open(output) as answers:
        assert list(map(json.loads, answers)) == [first, third]


@pytest.mark.slow
def test_texts_can_be_arguments(served):
    done = _run("the fox, a dog", f"--model_dir={served}", "{fox}", "text")
    assert (done.returncode, done.stderr) == (0, "")
    answers = list(map(json.loads, done.stdout.splitlines()))
    texts = [answer["text"] for answer in answers]
    assert texts == ["the fox, a dog", "{fox}", "text"]
    assert list(answers[0]) == [
        "text",
        "num_tokens",
        "truncated",
        "entities",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a text"], "{folder} is not an exported model"),
        (
            ["a", "--input_file=b"],
            "Both texts and an --input_file were given; give only one of them.",
        ),
        (
            ["a", "--runner=X"],
            "With --runner, give an --input_file and an --output_file.",
        ),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(tmp_path, args, message):
    error = error_of("predict", *args, model_dir=tmp_path)
    assert error.startswith("Error: " + message.format(folder=tmp_path))


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_time_loses_no_line(served, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"the fox {i} !\n" * 3 for i in range(7000)))
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    args = [f"--model_dir={served}", f"--input_file={texts}"]
    assert _run(*args, f"--output_file={whole}").returncode == 0
    progress = tmp_path / ".out.jsonl.parts" / "progress.json"
    for _ in range(4):
        before = progress.read_bytes() if progress.exists() else b""
        process = subprocess.Popen(
            [sys.executable, SCRIPT, *args, f"--output_file={out}"]
        )
        while not progress.exists() or progress.read_bytes() == before:
            assert process.poll() is None, "ended before the last kill"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not out.exists()
    assert _run(*args, f"--output_file={out}").returncode == 0
    assert out.read_bytes() == whole.read_bytes()
    assert out.read_text().count("\n") == 21_000


@pytest.mark.slow
def test_beam_starts_workers_of_their_own(served, tmp_path):
    """What the script hands to the workers can be pickled."""
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    (tmp_path / "texts.tsv").write_text("the fox\na dog\n")
    done = _run(
        f"--model_dir={served}",
        f"--input_file={tmp_path}/*.tsv",
        f"--output_file={tmp_path}/out.jsonl",
        "--runner=DirectRunner",
        "--beam_options=--direct_running_mode=multi_processing "
        "--direct_num_workers=2",
    )
    assert done.returncode == 0, done.stderr
    answers = [
        json.loads(line)
        for file in tmp_path.glob("out-*-of-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert sorted(answer["text"] for answer in answers) == ["a dog", "the fox"]
