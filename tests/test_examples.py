"""Runs the examples of docstrings, README.md and docs/.

The example of a docstring runs in its own folder, which holds `vocab.txt` (31
pieces), `corpus.txt`, `train.tfrecord` (written from the corpus: 14 tokens, 3
predictions), `pretrained/` (a checkpoint of a tiny network with 16 positions),
`base/` (the same with 512), `finetuned/` (a classifier, made from `base`) and
`sst2/` with `train.tsv` and `dev.tsv`. An example may use the
names `keras_bert`, `keras`, `np` and `tf`.

The blocks of a page run one after the other in one folder, which holds more
(`page_inputs.write_data`). A name on the Hub becomes the checkpoint in
`pretrained`, the networks in configs/ get the vocabulary of the folder, and
training is short (`_SHORT`).
"""

import dataclasses
import doctest
import inspect
import re
import shlex
import shutil
import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import CONFIG, write_vocab
from doc_pages import (
    PAGES,
    ROOT,
    SCRIPTS,
    blocks,
    commands,
)
from page_inputs import write_data
from script_runs import run
from small_checkpoint import write_checkpoint

import keras_bert

ROWS = ["a very good film\t1", "the movie was bad\t0", "not a bad dog\t1"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_vocab(folder)
    lines = ["the fox jumped over a dog .", "a film is not bad , the movie"]
    (folder / "corpus.txt").write_text(
        "\n".join([*lines, "", *reversed(lines), ""] * 5)
    )
    for name, length in (("pretrained", 16), ("base", 512)):
        write_checkpoint(
            folder / name,
            dataclasses.replace(CONFIG, max_position_embeddings=length),
            build=keras_bert.models.build_pretraining_model,
            scale=0.02,
        )
    keras_bert.create_pretraining_data(
        (folder / "corpus.txt").read_text().splitlines(),
        [folder / "train.tfrecord"],
        keras_bert.BertTokenizer(folder / "vocab.txt"),
        keras_bert.PretrainingDataConfig(
            max_seq_length=14, max_predictions_per_seq=3
        ),
    )
    (folder / "sst2").mkdir()
    for name in ("train", "dev"):
        (folder / "sst2" / f"{name}.tsv").write_text(
            "\n".join(["sentence\tlabel", *ROWS * 4]) + "\n"
        )
    keras_bert.finetune(
        "glue/sst2",
        folder / "sst2",
        folder / "finetuned",
        checkpoint=folder / "base",
        config=keras_bert.FinetuningConfig(num_train_epochs=1),
        settings={"max_seq_length": 16},
    )
    return folder


# Each of them takes seconds. ServedModel's is like most of them, and the pages
# run the commands finetune and pretrain.
_SLOW = {
    "FinetunedModel",
    "MultipleChoiceModel",
    "TextClassifier",
    "TextEmbedder",
    "distill",
    "embed_files",
    "export_pretrained",
    "export_to_cache",
    "finetune",
    "predict_files",
    "predict_files_with_beam",
    "predict_lines",
    "pretrain",
}


# Where a public name is defined, by the name.
PUBLIC = {
    name: place
    for place in (
        *(getattr(keras_bert, x) for x in keras_bert.__all__),
        keras_bert,
    )
    if inspect.ismodule(place)
    for name in place.__all__
    if not inspect.ismodule(getattr(place, name))
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in _SLOW else [])
        for name in sorted(PUBLIC)
    ],
)
def test_example(name, inputs, tmp_path, monkeypatch):
    if name.endswith("with_beam"):
        pytest.importorskip("apache_beam")
    folder = tmp_path / "example"
    shutil.copytree(inputs, folder)
    monkeypatch.chdir(folder)
    names = {"keras_bert": keras_bert, "keras": keras, "np": np, "tf": tf}
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(getattr(PUBLIC[name], name), name, globs=names)
    assert example.examples, f"the docstring of {name} has no example"
    report = []
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_top_has_few_names():
    modules = [
        name
        for name in keras_bert.__all__
        if inspect.ismodule(getattr(keras_bert, name))
    ]
    assert len(keras_bert.__all__) - len(modules) <= 30
    with pytest.raises(AttributeError, match="attribute bert"):
        _ = keras_bert.bert


def test_the_page_of_names_has_every_public_name():
    page = (ROOT / "docs" / "public-names.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert set(PUBLIC) <= named


# The flags that a command of a page gets, so that it ends soon.
_SHORT = {
    "finetune": {"--num_train_epochs": 1},
    "pretrain": {
        "--num_train_steps": 2,
        "--num_warmup_steps": 1,
        "--train_batch_size": 4,
    },
}
_HUB = re.compile(r"hf://[\w./-]+\w")


@pytest.fixture(scope="module")
def page_inputs(inputs, tmp_path_factory):
    """A folder with everything that the blocks of a page read."""
    folder = tmp_path_factory.mktemp("pages") / "inputs"
    shutil.copytree(
        inputs, folder, ignore=lambda *_: ["pretrained", "train.tfrecord"]
    )
    (folder / "base").rename(folder / "pretrained")
    write_data(folder)
    keras_bert.load_finetuned(folder / "finetuned").export(folder / "served")
    return folder


def _runs():
    """Yields each page with its short blocks, and with all of its blocks."""
    for page in PAGES:
        found = [block for block in blocks(page) if block.is_run]
        short = [block for block in found if not block.is_slow]
        if short:
            yield pytest.param(page, short, id=page.stem)
        if len(found) > len(short):
            slow = pytest.mark.slow
            yield pytest.param(page, found, id=f"{page.stem}-all", marks=slow)


@pytest.mark.parametrize(("page", "found"), list(_runs()))
def test_page(page, found, page_inputs, tmp_path, monkeypatch, capfd):
    folder = tmp_path / "page"
    shutil.copytree(page_inputs, folder, symlinks=True)
    monkeypatch.chdir(folder)
    names = {"__name__": "__page__"}
    for block in found:
        code = _HUB.sub("pretrained", block.code)
        if block.file:
            (folder / block.file).write_text(code)
        elif block.language == "python":
            # The number of a line is the one in the page.
            lines = "\n" * block.line + code
            exec(compile(lines, str(page), "exec"), names)
        else:
            for line in commands(dataclasses.replace(block, code=code)):
                _run_command(line)


def _run_command(line):
    name, *arguments = shlex.split(line)
    if name != "keras-bert":
        subprocess.run(["bash", "-c", line], check=True)
        return
    subcommand, *arguments = arguments
    arguments = [x.replace("=configs/models/", "=") for x in arguments]
    if "--num_train_epochs=0" not in arguments:
        short = _SHORT.get(subcommand, {})
        arguments = [x for x in arguments if x.partition("=")[0] not in short]
        arguments += [f"{flag}={value}" for flag, value in short.items()]
    run(SCRIPTS[subcommand], *arguments)
