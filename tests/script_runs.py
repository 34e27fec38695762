"""Runs the scripts as a user does, on a small corpus."""

import json
import subprocess
import sys
from pathlib import Path

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
    done = subprocess.run(
        command(script, *args, **flags), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def error_of(script, *args, **flags):
    """Runs a script that must fail; returns its error message."""
    done = subprocess.run(
        command(script, *args, **flags), capture_output=True, text=True
    )
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    (sentence,) = [
        line for line in done.stderr.splitlines() if line.startswith("Error: ")
    ]
    return sentence


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
