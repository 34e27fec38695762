"""The scripts with all their folders on a store, each killed once."""

import signal
import subprocess

import numpy as np
import pytest
from s3fs import S3FileSystem
from safetensors.numpy import load
from script_runs import FLAGS, command, error_of, pretraining_flags, run

pytestmark = pytest.mark.slow

# Runs the script argv[2], but the process is killed at its change argv[1] of
# the store.
_KILLED = """
import os, runpy, signal, sys
from pathlib import Path

import s3fs

left = int(sys.argv[1])

def dying(function):
    def call(*args, **kwargs):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*args, **kwargs)
    return call

for name in ("copy", "pipe_file", "put", "put_file", "rm", "rm_file"):
    function = getattr(s3fs.S3FileSystem, name)
    setattr(s3fs.S3FileSystem, name, dying(function))
sys.argv = sys.argv[2:]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def _killed(moment, script, **flags):
    python, *words = command(script, **flags)
    done = subprocess.run(
        [python, "-c", _KILLED, str(moment), *words],
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_killed_on_a_store_equals_uninterrupted_on_a_disk(
    script_folder, tmp_path, remote
):
    inputs = ("corpus.txt", "vocab.txt", "bert_config.json")
    for name in (*inputs, "train.tsv", "dev.tsv"):
        (remote / name).write_bytes((script_folder / name).read_bytes())
        (tmp_path / name).write_bytes((script_folder / name).read_bytes())
    texts = "".join(f"the fox {i} film .\n" for i in range(1500))
    for folder in (tmp_path, remote):
        (folder / "texts.txt").write_text(texts)

        def run_both(moment, script, folder=folder, **flags):
            if folder is remote:
                _killed(moment, script, **flags)
            run(script, **flags)

        run_both(
            2,
            "create_pretraining_data",
            input_file=f"{folder}/corp*.txt",
            output_file=folder / "train.tfrecord",
            vocab_file=folder / "vocab.txt",
            **FLAGS,
        )
        run_both(
            16,
            "run_pretraining",
            **pretraining_flags(
                folder,
                folder / "pretrained",
                num_train_steps=8,
                num_warmup_steps=1,
                save_checkpoints_steps=2,
            ),
        )
        run_both(
            12,
            "run_finetuning",
            task="glue/sst2",
            data_dir=folder,
            checkpoint=folder / "pretrained",
            output_dir=folder / "finetuned",
            max_seq_length=16,
            learning_rate=0.001,
            num_train_epochs=3,
        )
        run_both(
            2,
            "export_model",
            model_dir=folder / "finetuned",
            export_dir=folder / "served",
        )
        run_both(
            2,
            "predict",
            model_dir=folder / "served",
            input_file=folder / "texts.txt",
            output_file=folder / "answers.jsonl",
        )

    for name in ("train.tfrecord", "train.tfrecord.json"):
        assert (remote / name).read_bytes() == (tmp_path / name).read_bytes()
    for name in (
        "pretrained/checkpoints/step-00000008/model.safetensors",
        "pretrained/checkpoints/step-00000008/training_state.safetensors",
        "finetuned/best/model.safetensors",
    ):
        arrays, expected = (
            load((folder / name).read_bytes()) for folder in (remote, tmp_path)
        )
        assert arrays.keys() == expected.keys()
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, expected[key], key)
    for name in ("predictions.jsonl", "eval_results.json"):
        name = f"finetuned/{name}"
        assert (remote / name).read_bytes() == (tmp_path / name).read_bytes()
    answers = (remote / "answers.jsonl").read_bytes()
    assert answers == (tmp_path / "answers.jsonl").read_bytes()
    assert len(answers.splitlines()) == 1500
    # A killed export leaves a folder that is not a version.
    versions = {path.name for path in remote.glob("served/*")}
    assert versions == {"1", "2"}


def test_a_store_that_does_not_answer_is_named(
    script_folder, store, monkeypatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    S3FileSystem.clear_instance_cache()  # a new process has no connection
    assert "s3://bucket/texts.txt cannot be read (Could not connect" in (
        error_of(
            "build_vocab",
            input_file="s3://bucket/texts.txt",
            output_file=script_folder / "new.txt",
        )
    )
