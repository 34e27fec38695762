"""Runs the scripts as a user does, on a small corpus."""

import contextlib
import gc
import io
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from absl.testing import flagsaver

ROOT = Path(__file__).parent.parent
SENTENCES = ["the fox jumped over a dog .", "a film is not bad , the movie"]
FLAGS = {
    "max_seq_length": 14,
    "max_predictions_per_seq": 3,
}
TRAINING = {
    **FLAGS,
    "train_batch_size": 8,
    "num_train_steps": 300,
    "num_warmup_steps": 10,
    "save_checkpoints_steps": 20,
}


def command(script, *args, **flags):
    return [
        sys.executable,
        str(ROOT / "run_scripts" / f"{script}.py"),
        *(f"--{name}={value}" for name, value in flags.items()),
        *args,
    ]


def run(script, *args, **flags):
    """Runs a script in this process; returns what it prints."""
    printed, code = _run_here(command(script, *args, **flags)[1:])
    assert not code, code
    return printed


def error_of(script, *args, **flags):
    """Runs a script that must fail, as `run` does; returns its message."""
    printed, code = _run_here(command(script, *args, **flags)[1:])
    # Python prints the message and exits with status 1.
    assert isinstance(code, str) and code.startswith("Error: "), printed
    assert "\n" not in code
    return code


def run_in_a_new_process(script, *args, **flags):
    done = subprocess.run(
        command(script, *args, **flags), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run_here(argv):
    """Runs a script; returns what it prints and what it passes to sys.exit."""
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with (
        pytest.MonkeyPatch.context() as patch,
        flagsaver.flagsaver(),
        contextlib.redirect_stdout(printed),
    ):
        patch.setattr(sys, "argv", argv)
        code = None
        try:
            runpy.run_path(argv[0], run_name="__main__")
        except SystemExit as end:
            code = end.code
        finally:
            gc.unfreeze()  # the scripts freeze what was imported
    return printed.buffer.getvalue().decode(), code


def pretraining_flags(folder, output_dir, **changes):
    return {
        "input_file": folder / "train.tfrecord",
        "eval_file": folder / "train.tfrecord",
        "vocab_file": folder / "vocab.txt",
        "bert_config_file": folder / "bert_config.json",
        "output_dir": output_dir,
        **TRAINING,
        **changes,
    }


def make_inputs(folder):
    """Writes a corpus, its vocabulary, records, a config and task files."""
    (folder / "corpus.txt").write_text(
        "\n".join([*SENTENCES, "", *reversed(SENTENCES), ""] * 20)
    )
    run(
        "build_vocab",
        input_file=folder / "corpus.txt",
        output_file=folder / "vocab.txt",
        vocab_size=150,
    )
    size = len((folder / "vocab.txt").read_text().splitlines())
    (folder / "bert_config.json").write_text(
        json.dumps(
            {
                "vocab_size": size,
                "hidden_size": 12,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "intermediate_size": 20,
                "max_position_embeddings": 16,
            }
        )
    )
    run(
        "create_pretraining_data",
        input_file=folder / "corpus.txt",
        output_file=folder / "train.tfrecord",
        vocab_file=folder / "vocab.txt",
        **FLAGS,
    )
    rows = [f"{text}\t{label}" for label, text in enumerate(SENTENCES)] * 20
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text(
            "\n".join(["sentence\tlabel", *rows]) + "\n"
        )
