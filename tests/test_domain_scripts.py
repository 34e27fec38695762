"""Runs the scripts that take a checkpoint to a domain (docs/own-domain.md)."""

import csv
import json
import shutil

import pytest
from script_runs import FLAGS, error_of, pretraining_flags, run

pytestmark = pytest.mark.slow

LINES = ["unaffable foxes jumped .", "foxes are not unaffable , a fox is"] * 40


def _figures(out):
    return dict(line.split(" = ") for line in out.splitlines())


def test_from_a_checkpoint_to_a_domain(script_folder, tmp_path):
    folder = shutil.copytree(script_folder, tmp_path / "scripts")
    run(
        "run_pretraining",
        **pretraining_flags(folder, folder / "general", num_train_steps=20),
    )
    (folder / "domain.txt").write_text("\n".join([*LINES, "", *LINES, ""]))
    extended = folder / "extended"
    figures = _figures(
        run(
            "extend_vocab",
            checkpoint=folder / "general",
            input_file=folder / "domain.txt",
            output_dir=extended,
            num_new_pieces=8,
        )
    )
    assert int(figures["vocab_size_after"]) > int(figures["vocab_size_before"])
    assert float(figures["tokens_per_word_after"]) < float(
        figures["tokens_per_word_before"]
    )
    records = folder / "domain.tfrecord"
    run(
        "create_pretraining_data",
        checkpoint=extended,
        input_file=folder / "domain.txt",
        output_file=records,
        **FLAGS,
    )
    flags = pretraining_flags(folder, folder / "domain", num_train_steps=20)
    del flags["vocab_file"], flags["bert_config_file"]
    flags |= {
        "input_file": records,
        "eval_file": records,
        "checkpoint": extended,
    }
    run("run_pretraining", **flags)
    with (folder / "domain" / "history.csv").open() as file:
        losses = {
            int(row["step"]): float(row["val_loss"])
            for row in csv.DictReader(file)
            if row["val_loss"]
        }
    assert list(losses) == [0, 20]
    assert losses[20] < losses[0]
    run(
        "run_finetuning",
        task="glue/sst2",
        data_dir=folder,
        checkpoint=folder / "domain",
        output_dir=folder / "finetuned",
        max_seq_length=16,
        num_train_epochs=1,
    )

    run(
        "trim_vocab",
        checkpoint=folder / "domain",
        input_file=folder / "domain.txt",
        output_dir=folder / "small",
    )
    run(
        "keep_layers",
        checkpoint=folder / "small",
        layers="0",
        output_dir=folder / "student",
    )
    run(
        "distill",
        teacher=folder / "domain",
        checkpoint=folder / "student",
        input_file=folder / "domain.txt",
        max_seq_length=16,
        num_train_epochs=1,
        output_dir=folder / "distilled",
    )
    task = json.loads((folder / "distilled/best/task.json").read_text())
    assert task["settings"]["max_seq_length"] == 16
    run(
        "extend_positions",
        checkpoint=folder / "small",
        output_dir=folder / "longer",
        max_position_embeddings=1024,
    )
    config = json.loads((folder / "longer/bert_config.json").read_text())
    assert config["max_position_embeddings"] == 1024
    assert config["vocab_size"] < int(figures["vocab_size_after"])

    words = folder / "words.txt"
    words.write_text("Foxglove\n\nfoxes\n")
    run(
        "extend_vocab",
        checkpoint=folder / "general",
        words_file=words,
        output_dir=folder / "listed",
    )
    vocab = (folder / "listed" / "vocab.txt").read_text().splitlines()
    assert vocab[-2:] == ["foxglove", "foxes"]
    assert (
        "Both a text and words were given; give a text to learn from"
        in error_of(
            "extend_vocab",
            checkpoint=folder / "general",
            input_file=folder / "corpus.txt",
            words_file=words,
            output_dir=folder / "x",
        )
    )
