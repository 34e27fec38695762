"""Runs the example in the docstring of every public name.

Each example runs in its own folder, which holds `vocab.txt` (31 pieces),
`corpus.txt`, `train.tfrecord` (written from the corpus: 14 tokens, 3
predictions), `pretrained/` (a checkpoint of a tiny network), `finetuned/` (a
classifier) and `sst2/` with `train.tsv` and `dev.tsv`. An example may use the
names `keras_bert`, `keras`, `np` and `tf`.
"""

import doctest
import inspect
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS, WORDS, randomize
from safetensors.numpy import save_file

import keras_bert

CONFIG = keras_bert.BertConfig(
    vocab_size=31,
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=16,
)
ROWS = ["a very good film\t1", "the movie was bad\t0", "not a bad dog\t1"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "vocab.txt").write_text("\n".join(SPECIAL_TOKENS + WORDS) + "\n")
    lines = ["the fox jumped over a dog .", "a film is not bad , the movie"]
    (folder / "corpus.txt").write_text(
        "\n".join([*lines, "", *reversed(lines), ""] * 5)
    )
    (folder / "pretrained").mkdir()
    model = keras_bert.models.build_pretraining_model(CONFIG)
    randomize(model, scale=0.02)
    save_file(
        {w.path: w.numpy() for w in model.weights},
        folder / "pretrained" / "model.safetensors",
    )
    (folder / "pretrained" / "bert_config.json").write_text(CONFIG.to_json())
    shutil.copy(folder / "vocab.txt", folder / "pretrained")
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
        checkpoint=folder / "pretrained",
        config=keras_bert.FinetuningConfig(num_train_epochs=1),
        settings={"max_seq_length": 16},
    )
    return folder


# Each of them takes seconds. ServedModel's is like the first five.
_SLOW = {
    "FinetunedModel",
    "export_pretrained",
    "predict_files",
    "predict_files_with_beam",
    "predict_lines",
    "search_hyperparameters",
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
