"""A small network learns the vectors of a large one."""

import dataclasses
import json

import numpy as np
import pytest
from conftest import WORDS

from keras_bert.checkpoints.resize.checkpoint import keep_layers
from keras_bert.checkpoints.resize.vocab import trim_vocab
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.models.rewired import with_hidden_states
from keras_bert.vectors import distillation as module
from keras_bert.vectors.distillation import distill
from keras_bert.vectors.embedder import load_embedder

TEXTS = [" ".join(WORDS[: i * 7 % 13]) for i in range(17)]
CONFIG = FinetuningConfig(
    learning_rate=0.02,
    train_batch_size=4,
    num_train_epochs=2,
    save_checkpoints_steps=18,
)


@pytest.fixture(scope="module")
def student(checkpoint, tmp_path_factory):
    """One layer of two, and a vocabulary without "dog" and "movie"."""
    folder = tmp_path_factory.mktemp("m")
    keep_layers(checkpoint, folder / "shallow", [1])
    words = [x for x in WORDS if x.isalpha() and x not in ("dog", "movie")]
    trim_vocab(folder / "shallow", folder / "student", words)
    return folder / "student"


@pytest.fixture
def input_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_HELD_OUT", 5)
    (tmp_path / "texts.txt").write_text("\n".join([*TEXTS, "", *TEXTS[::-1]]))
    return str(tmp_path / "texts.txt")


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_vectors_come_nearer(
    embedder, student, input_file, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    metrics = distill(embedder, student, input_file, out, config=CONFIG)
    lines = [*TEXTS, "", *TEXTS[::-1]]
    held_out = [text for text in lines[::5] if text.strip()]
    expected = embedder.embed(held_out)

    def cosine(checkpoint):
        small = load_embedder(checkpoint, max_seq_length=9)
        vectors = small.embed(held_out)
        return float((vectors * expected).sum(axis=1).mean())

    assert metrics["cosine"] == pytest.approx(cosine(out), abs=1e-5)
    assert metrics["loss"] == pytest.approx(1 - metrics["cosine"], abs=1e-3)
    assert cosine(out) > cosine(student) + 0.05
    # The settings are those of the teacher.
    settings = json.loads((out / "best" / "task.json").read_text())["settings"]
    assert settings["max_seq_length"] == 9 and settings["loss"] == "vector"

    # The vectors serve again, but not for other texts.
    with monkeypatch.context() as patches:
        patches.setattr(module, "embed_files", None)
        again = distill(embedder, student, input_file, out, config=CONFIG)
    assert again == metrics
    with open(input_file, "a") as file:
        file.write("\nthe film")
    with pytest.raises(InputError, match="other training rows"):
        distill(embedder, student, input_file, out, config=CONFIG)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_hidden_states_come_nearer(checkpoint, student, input_file, tmp_path):
    large = tmp_path / "large"
    settings = {"max_seq_length": 9, "pooling": "max"}
    convert_checkpoint(
        checkpoint, large, "sentence_transformers", settings=settings
    )
    teacher, out = load_embedder(large), tmp_path / "out"
    config = dataclasses.replace(CONFIG, hidden_layer_map="1:2")
    distill(teacher, student, input_file, out, config=config)

    def error(folder):
        small = load_embedder(folder, max_seq_length=9)
        known = [x for x in TEXTS if not {"dog", "movie"} & {*x.split()}]
        batches, its_batches = (
            x.batches(known, size=4) for x in (small, teacher)
        )
        total = 0.0
        for (_, batch, _), (_, its_batch, _) in zip(
            batches, its_batches, strict=True
        ):
            states = with_hidden_states(small.model, [1])(batch)["hidden_1"]
            expected = with_hidden_states(teacher.model, [2])(its_batch)
            is_token = batch["input_mask"] > 0
            errors = np.square(states - expected["hidden_2"])
            total += errors[is_token].mean()
        return total

    assert load_embedder(out).settings.pooling == "max"
    assert error(out) < 0.8 * error(student)


def test_layers_are_those_of_the_folder_of_the_teacher(
    embedder, checkpoint, student, input_file, tmp_path
):
    large = tmp_path / "large"
    convert_checkpoint(checkpoint, large, "sentence_transformers")
    config = dataclasses.replace(CONFIG, hidden_layer_map="1:2")
    for teacher, message in (
        (embedder, "has no task.json"),
        (load_embedder(large, pooling="max"), "has pooling=.mean.; leave"),
        (load_embedder(large, normalize=False), "has normalize=True; leave"),
    ):
        with pytest.raises(InputError, match=message):
            distill(teacher, student, input_file, tmp_path / "o", config=config)
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_another_width_needs_a_layer(checkpoint, student, input_file, tmp_path):
    teacher = load_embedder(checkpoint, max_seq_length=9, dimensions=7)
    out = tmp_path / "out"
    with pytest.raises(InputError, match="have 12; set dense to 7:lin"):
        distill(teacher, student, input_file, out, config=CONFIG)
    settings = {"dense": "7:linear"}
    distill(teacher, student, input_file, out, config=CONFIG, settings=settings)
    assert load_embedder(out).size == 7


def test_wrong_input_is_refused_before_anything_is_written(
    checkpoint, embedder, student, tmp_path
):
    (tmp_path / "one.txt").write_text("The fox\n\n")
    file, out = str(tmp_path / "one.txt"), tmp_path / "o"
    workers = FinetuningConfig(distribution_strategy="multi_worker_mirrored")
    for teacher, config, message in (
        (checkpoint, None, "give the result of load_embedder"),
        (embedder, None, "has fewer than two texts; give more"),
        (embedder, workers, "distill runs in one process"),
    ):
        with pytest.raises(InputError, match=message):
            distill(teacher, student, file, out, config=config)
    assert not out.exists()
