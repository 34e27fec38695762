"""Training that starts from a model with an output layer of its own."""

import dataclasses
import json

import pytest
from conftest import randomize
from kind_examples import make_kind

import keras_bert
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.finetuning.label_order import label_places
from keras_bert.finetuning.training import Start

KINDS = {
    "classification": [{"text": "a good film"}, {"text": "the fox"}],
    "next_sentence": [{"text": "a film", "next_text": "the dog was lazy"}],
    "multilabel": [{"text": "a good film"}, {"text": "the fox"}],
    "token_classification": [{"words": ["the", "lazy", "dog", "jumped"]}],
}
LABELS = ("O", "B-A", "I-A", "B-C")
OTHER_ORDER = ("B-C", "I-A", "O", "B-A")


def _names(kind):
    return ("is_next", "random") if kind == "next_sentence" else LABELS


@pytest.fixture(scope="module")
def config(config):
    return dataclasses.replace(config, num_hidden_layers=1)


@pytest.fixture
def make(config, vocab_file, tmp_path):
    def make(name, labels, **settings):
        return make_kind(name, vocab_file, config, labels=labels, **settings)

    return make


@pytest.fixture
def saved(make, config, tmp_path):
    """Saves a model with random weights, and returns it and its folder."""

    def save(name, labels, **settings):
        kind = make(name, labels, **settings)
        network = kind.build_model(config)
        randomize(network)
        model = FinetunedModel(network, kind, config)
        model.save(tmp_path / "saved")
        return model, tmp_path / "saved"

    return save


def _to_train(kind, config, checkpoint, **options):
    """Returns the model that training starts from."""
    start = Start(
        bert_config=config,
        config=FinetuningConfig(),
        checkpoint=checkpoint,
        **options,
    )
    start.check(kind)
    return FinetunedModel(start.initial_network(kind), kind, config)


def _by_name(answers):
    """Returns answers without the order of labels, in four digits."""
    for answer in answers:
        answer.get("labels", []).sort()
    text = json.dumps(answers, sort_keys=True)
    return json.loads(text, parse_float=lambda x: round(float(x), 4))


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("classification", {}),
        ("classification", {"format": "huggingface"}),
        pytest.param(
            "classification",
            {"window_pooling": "mean"},
            marks=pytest.mark.slow,
        ),
        pytest.param("next_sentence", {}, marks=pytest.mark.slow),
        ("multilabel", {}),
        ("token_classification", {}),
        ("token_classification", {"crf": True}),
    ],
)
def test_labels_in_another_order_keep_their_rows(
    name, settings, saved, make, config
):
    settings = dict(settings)
    labels = _names(name)
    format = settings.pop("format", None)
    expected, folder = saved(name, labels, **settings)
    if format:
        convert_checkpoint(folder, folder / "converted", format)
        folder = folder / "converted"
    order = OTHER_ORDER if labels == LABELS else labels[::-1]
    model = _to_train(make(name, order, **settings), config, folder)
    answers, wanted = (
        _by_name(x.predict(KINDS[name])) for x in (model, expected)
    )
    assert answers == wanted


ROWS = [
    {"text": text, "label": label}
    for text, label in (("a good film", "B-A"), ("a bad film", "O"))
] * 3


def _task(*labels, kind="classification"):
    return keras_bert.Task(
        kind=kind,
        text_fields=("text",),
        labels=labels,
        metrics=("accuracy",),
        read=lambda folder, split: ROWS,
        settings={"max_seq_length": 12},
        test_files={},
    )


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_other_labels_ask_for_a_new_head(saved, config, tmp_path, logged):
    model, folder = saved("classification", LABELS)
    output_dir = tmp_path / "out"

    def finetune(**options):
        return keras_bert.finetune(
            _task("B-A", "O"),
            tmp_path,
            output_dir,
            checkpoint=folder,
            config=FinetuningConfig(num_train_epochs=1, train_batch_size=6),
            **options,
        )

    with pytest.raises(InputError) as error:
        finetune()
    assert (
        "answers with the labels O, B-A, I-A, B-C, but the task has B-A, O; "
        "give new_head (--new_head) to train a new output layer"
    ) in str(error.value)
    assert not output_dir.exists()
    finetune(new_head=True)
    assert "Training starts with random weights in the classifier" in (
        logged.text
    )
    trained = keras_bert.load_finetuned(output_dir)
    assert trained.kind.spec.labels == ("B-A", "O")
    after, before = (
        {w.path: w.numpy() for w in x.model.weights} for x in (trained, model)
    )
    change = after["pooler/dense/kernel"] - before["pooler/dense/kernel"]
    assert abs(change).max() < 1e-3
    with pytest.raises(InputError, match="nothing is trained; leave the new_h"):
        keras_bert.finetune(
            _task(*LABELS),
            tmp_path,
            output_dir,
            checkpoint=folder,
            config=FinetuningConfig(num_train_epochs=0),
            new_head=True,
        )


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_fit_learns_other_labels_with_a_new_head(saved):
    expected, folder = saved("classification", LABELS)
    start = keras_bert.TextClassifier.from_pretrained
    model = start(folder, labels=OTHER_ORDER)
    assert model.kind.spec.labels == OTHER_ORDER
    rows = KINDS["classification"]
    assert _by_name(model.predict(rows)) == _by_name(expected.predict(rows))
    for other in ("bad", "good", "worse"), (*LABELS[:3], "good"):
        with pytest.raises(InputError, match="on the checkpoint's encoder"):
            start(folder, labels=other)
    with pytest.raises(InputError, match="'bad' of example 1 .* new_head"):
        start(folder).fit(["a film"], ["bad"], epochs=1)
    model = start(folder, new_head=True)
    for _ in range(2):  # from the checkpoint, and from the present weights
        model.fit(["a film", "the fox"], ["bad", "good"], epochs=1)
    assert model.kind.spec.labels == ("bad", "good")
    assert model.kind.spec.settings.max_seq_length == 12


def test_a_file_without_names_of_its_labels(saved, make, config):
    _, folder = saved("classification", LABELS)
    for name in ("task.json", "checksums.json"):
        (folder / name).unlink()
    kind = make("classification", ("no", "maybe", "yes"))
    with pytest.raises(InputError, match="for other labels, give new_head"):
        _to_train(kind, config, folder)
    _to_train(kind, config, folder, new_head=True)


@pytest.mark.slow
def test_as_many_labels_of_other_names(saved, make, config, logged):
    expected, folder = saved("classification", ("LABEL_0", "LABEL_1"))
    model = _to_train(make("classification", ("no", "yes")), config, folder)
    rows = KINDS["classification"]
    for answer, wanted in zip(
        model.predict(rows), expected.predict(rows), strict=True
    ):
        assert [*answer["scores"].values()] == [*wanted["scores"].values()]
    assert (
        "with the labels LABEL_0, LABEL_1, is assumed to be for the labels no, "
        "yes, in this order"
    ) in logged.text


TWELVE = tuple(f"LABEL_{i}" for i in range(12))
SORTED = tuple(sorted(map(str, range(12))))
MNLI = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


@pytest.mark.parametrize(
    ("stored", "labels", "expected"),
    [
        (MNLI, ("contradiction", "entailment", "neutral"), [0, 2, 1]),
        (MNLI, ("contradiction", "neutral", "entailment"), None),
        (MNLI, ("0", "1", "2"), [0, 1, 2]),
        (("0", "1"), ("no", "yes"), [0, 1]),
        (TWELVE, SORTED, [0, 1, 10, 11, *range(2, 10)]),
        (TWELVE[:10], ("1", "10", *"23456789"), [0, 9, *range(1, 9)]),
        (("a", "A", "b"), ("b", "A", "a"), [2, 1, 0]),
        (("a", "A", "b"), ("a", "A", "B"), "answers with the labels a, A, b"),
        (("NEGATIVE", "POSITIVE"), ("pos", "neg"), "has pos, neg; give new_h"),
    ],
)
def test_names_decide_the_order(saved, make, config, stored, labels, expected):
    _, folder = saved("classification", stored)
    given = make("classification", labels), Checkpoint.of(folder), config
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            label_places(*given, new_head=False)
    else:
        assert label_places(*given, new_head=False) == expected


def test_the_labels_of_a_pre_trained_head_have_no_names(saved, make, config):
    _, folder = saved("next_sentence", ("is_next", "random"))
    kind = make("next_sentence", ("yes", "no"))
    checkpoint = Checkpoint.of(folder)
    assert label_places(kind, checkpoint, config, new_head=False) == [0, 1]
