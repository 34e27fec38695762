"""A token classification whose labels are chosen together, by a CRF."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import make_kind
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning import (
    FinetunedModel,
    TokenClassifier,
    load_finetuned,
)
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.run import finetune
from keras_bert.finetuning.save_pretrained import save_pretrained
from keras_bert.predict.served_model import ServedModel
from keras_bert.tasks.base import Task

LABELS = ("O", "B-A", "I-A")
# Seven words of 11 tokens, in windows of 4; a word of 2; and no word.
WORDS = [
    "the jumped fox unaffable dog jumps lazy".split(),
    ["good", "film"],
    [],
]
ROWS = [
    {"words": WORDS[0], "label": "O B-A I-A O O B-A I-A".split()},
    {"words": WORDS[1], "label": ["B-A", "I-A"]},
    {"words": WORDS[2], "label": []},
]


@pytest.fixture(scope="module")
def finetuned(config, vocab_file):
    settings = {"labels": LABELS, "max_seq_length": 6, "crf": True}
    kind = make_kind("token_classification", vocab_file, config, **settings)
    keras.utils.set_random_seed(12345)
    model = kind.build_model(config)
    randomize(model)
    # So that the answers depend on the words, and on the labels around them.
    kernel, bias = model.get_layer("token_classifier").weights
    kernel.assign(8 * kernel)
    bias.assign([0.0, 0.0, 0.0])
    transitions = [[1.0, 0.5, -4.0], [-1.0, -1.0, 2.0], [0.5, 0.0, -2.0]]
    model.get_layer("crf").transitions.assign(transitions)
    return FinetunedModel(model, kind, config)


def _scores(logits, transitions):
    """The score of every row of labels, by the labels."""
    return {
        labels: sum(x[i] for x, i in zip(logits, labels, strict=True))
        + sum(transitions[i, j] for i, j in itertools.pairwise(labels))
        for labels in itertools.product(range(3), repeat=len(logits))
    }


def _words_of_windows(finetuned, examples):
    """The logits of the words that each window reads, and the transitions."""
    features, *_ = examples.batch(tf.range(len(examples.rows)))
    chains = finetuned.model(features)["chain"].numpy().astype("float64")
    is_read = examples.tokens[1].is_read.to_list()
    logits = [
        chain[3:][: len(mask)][mask]
        for chain, mask in zip(chains, is_read, strict=True)
    ]
    return logits, chains[0, :3]


def test_the_loss_is_that_of_the_words_of_each_window(finetuned):
    examples = finetuned.kind.encode(ROWS, labeled=True)
    assert examples.rows.tolist() == [0] * 5 + [1, 2]
    labels = [x for x in examples.labels["chain"].flat_values.numpy() if x > 0]
    assert [LABELS[i - 1] for i in labels] == ROWS[0]["label"] + ["B-A", "I-A"]
    logits, transitions = _words_of_windows(finetuned, examples)
    expected = 0
    for words in logits:
        scores = _scores(words, transitions)
        gold = tuple(labels.pop(0) - 1 for _ in words)
        expected += np.log(sum(np.exp(list(scores.values())))) - scores[gold]
    assert sorted(map(len, logits)) == [0, 0, 1, 2, 2, 2, 2]
    figures = finetuned.evaluate(ROWS)
    assert figures["loss"] == pytest.approx(expected / 9, abs=1e-5)


def test_the_tags_of_all_windows_are_chosen_together(finetuned):
    kind = finetuned.kind
    examples = kind.encode(ROWS, labeled=False)
    logits, transitions = _words_of_windows(finetuned, examples)
    answers = finetuned.predict(WORDS)
    alone = []
    for row, answer in enumerate(answers):
        words = [
            x for i, x in zip(examples.rows, logits, strict=True) if i == row
        ]
        words = np.concatenate(words)
        scores = _scores(words, transitions)
        best = max(scores, key=scores.get)
        assert answer["tags"] == [LABELS[i] for i in best]
        total = sum(np.exp(list(scores.values())))
        for i, label in enumerate(best):
            share = sum(np.exp(scores[x]) for x in scores if x[i] == label)
            score = answer["scores"][i]
            assert score == pytest.approx(share / total, abs=1e-5)
        alone += [LABELS[i] for i in words.argmax(axis=1)]
    together = [tag for answer in answers for tag in answer["tags"]]
    assert together != alone
    assert answers[2]["tags"] == answers[2]["entities"] == []


def _assert_equal(answers, expected):
    for answer, like in zip(answers, expected, strict=True):
        for entity in like["entities"]:
            entity["score"] = pytest.approx(entity["score"], abs=1e-5)
        assert answer["entities"] == like["entities"]


TEXTS = [
    {"text": text}
    for text in (
        *(" ".join(words) for words in WORDS),
        "the lazy, very quick dog! " * 3,
    )
]


@pytest.mark.slow
def test_saved_and_exported_models_answer_as_predict_does(finetuned, tmp_path):
    words, texts = finetuned.predict(WORDS), finetuned.predict(TEXTS)
    assert any(answer["entities"] for answer in texts)
    version = finetuned.export(tmp_path / "served")
    _assert_equal(ServedModel(version).answer(TEXTS), texts)
    rows = [{"words": row} for row in WORDS[:2]]
    for answer, like in zip(
        ServedModel(version, "words").answer(rows), words, strict=False
    ):
        assert answer["tags"] == like["tags"]
        assert answer["scores"] == pytest.approx(like["scores"], abs=1e-5)
    finetuned.save(tmp_path / "saved")
    weights = load_file(tmp_path / "saved" / "model.safetensors")
    assert weights["crf/transitions"].shape == (3, 3)
    loaded = load_finetuned(tmp_path / "saved")
    assert loaded.kind.spec.settings.crf
    assert loaded.predict(WORDS) == finetuned.predict(WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("model_format", ["litert", "onnx"])
def test_other_formats_answer_as_predict_does(
    finetuned, tmp_path, model_format
):
    config = ExportConfig(model_format)
    version = finetuned.export(tmp_path / "served", config)
    found = ServedModel(version).answer(TEXTS)
    _assert_equal(found, finetuned.predict(TEXTS))


def test_a_network_of_keras_is_saved_with_its_crf(finetuned, tmp_path):
    network, tokenizer = finetuned.model, finetuned.kind.tokenizer
    task = {"text_fields": "words", "labels": LABELS}
    with pytest.raises(InputError, match="crf/transitions .* None is expected"):
        save_pretrained(network, tokenizer, tmp_path / "saved", **task)
    settings = {"crf": True, "max_seq_length": 6}
    save_pretrained(
        network, tokenizer, tmp_path / "saved", settings=settings, **task
    )
    loaded = load_finetuned(tmp_path / "saved")
    assert loaded.predict(WORDS) == finetuned.predict(WORDS)


def test_other_libraries_have_no_place_for_the_transitions(
    finetuned, tmp_path, caplog
):
    finetuned.save(tmp_path / "saved")
    convert_checkpoint(tmp_path / "saved", tmp_path / "hf", "huggingface")
    assert "Leaving out crf, which the format cannot store" in caplog.text
    model = load_finetuned(tmp_path / "hf", settings={"max_seq_length": 6})
    assert not model.kind.spec.settings.crf


@pytest.mark.slow
def test_it_learns(config, tmp_path):
    """A tag follows from the tag before it; only the first word tells more."""
    checkpoint = write_checkpoint(tmp_path / "pretrained", config)
    random = np.random.default_rng(6)
    words = [
        random.choice(["the", "fox", "dog"], 6).tolist() for _ in range(96)
    ]
    labels = [
        np.roll(["O", "B-A", "I-A"] * 2, random.integers(3)).tolist()
        for _ in words
    ]
    for row, tags in zip(words, labels, strict=True):
        row[0] = {"O": "good", "B-A": "bad", "I-A": "lazy"}[tags[0]]
    model = TokenClassifier.from_pretrained(
        checkpoint, labels=LABELS, max_seq_length=8, crf=True
    )
    assert model.evaluate(words, labels)["f1"] < 0.5
    config = FinetuningConfig(
        num_train_epochs=7,
        train_batch_size=8,
        learning_rate=0.003,
        head_learning_rate=0.05,
        save_checkpoints_steps=40,
    )
    losses = model.fit(words, labels, config=config).history["loss"]
    assert losses[-1] < losses[0] / 3
    assert model.evaluate(words, labels)["f1"] > 0.9
    transitions = model.model.get_layer("crf").transitions.numpy()
    assert transitions.argmax(axis=1).tolist() == [1, 2, 0]
    # A model that starts from it has a CRF too, if nobody says otherwise.
    model.save(tmp_path / "saved")
    again = TokenClassifier.from_pretrained(tmp_path / "saved")
    weight = again.model.get_layer("crf").transitions
    np.testing.assert_array_equal(weight, transitions)


@pytest.mark.slow
def test_a_network_learns_from_a_teacher_with_a_crf(finetuned, tmp_path):
    finetuned.save(tmp_path / "teacher")
    task = Task(
        kind="token_classification",
        text_fields=("words",),
        labels=LABELS,
        metrics=("accuracy",),
        read=lambda data_dir, split: ROWS * 4,
        settings={"max_seq_length": 6},
        test_files={},
    )

    def learn(output_dir, **settings):
        finetune(
            task,
            tmp_path,
            output_dir,
            checkpoint=tmp_path / "teacher",
            teacher=tmp_path / "teacher",
            config=FinetuningConfig(
                num_train_epochs=20,
                distillation_weight=1.0,
                head_learning_rate=0.01,
            ),
            settings=settings,
        )

    with pytest.raises(InputError, match="teacher has no output logits"):
        learn(tmp_path / "refused", crf=False)
    learn(tmp_path / "out")
    found = load_finetuned(tmp_path / "out").model.get_layer("crf").transitions
    expected = finetuned.model.get_layer("crf").transitions
    np.testing.assert_allclose(found, expected, atol=0.02)
