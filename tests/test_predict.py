"""predict.py runs an exported model in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import randomize
from kind_examples import export, make_kind

SCRIPT = Path(__file__).parent.parent / "run_scripts" / "predict.py"


@pytest.fixture
def served(config, vocab_file, tmp_path):
    kind = make_kind(
        "token_classification",
        vocab_file,
        config,
        labels=("O", "B-PER", "I-PER"),
    )
    model = kind.build_model(config)
    randomize(model)
    export(model, kind, tmp_path / "served")
    return tmp_path / "served"


def _run(*args, **kwargs):
    return subprocess.run(
        [sys.executable, SCRIPT, *args],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        **kwargs,
    )


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
    assert done.stderr.endswith("Error: 1 lines could not be read.\n")
    assert "Traceback" not in done.stderr

    # Some editors start a file with a byte-order mark.
    file = tmp_path / "lines.txt"
    file.write_text("\n".join([lines[0], lines[2]]), encoding="utf-8-sig")
    from_file = _run(*args, f"--input_file={file}")
    assert from_file.returncode == 0, from_file.stderr
    assert list(map(json.loads, from_file.stdout.splitlines())) == [
        first,
        third,
    ]


def test_texts_can_be_arguments(served):
    done = _run(f"--model_dir={served}", "the fox, a dog", "{fox}")
    assert done.returncode == 0, done.stderr
    answers = list(map(json.loads, done.stdout.splitlines()))
    assert [answer["text"] for answer in answers] == ["the fox, a dog", "{fox}"]
    assert list(answers[0]) == [
        "text",
        "num_tokens",
        "truncated",
        "entities",
    ]


def test_a_wrong_folder_is_reported_in_one_sentence(tmp_path):
    done = _run(f"--model_dir={tmp_path}", "a text")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"\nError: {tmp_path} is not an exported model" in f"\n{done.stderr}"
    assert "Traceback" not in done.stderr
