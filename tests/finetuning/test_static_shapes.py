"""The batches of a TPU beside those of other devices."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize, write_vocab
from kind_examples import make_kind
from span_examples import span_row

from keras_bert.finetuning import run, training
from keras_bert.finetuning.batches import training_batches
from keras_bert.kinds import network_calls
from keras_bert.tasks.base import Task
from keras_bert.training.distribution import WHOLE, BatchShard, distribute

_TEXTS = ["fox " * n for n in (3, 1, 6, 2, 5, 1, 4)]
_ENDINGS = ["bad", "is not very good"]
# Rows, and the settings of the kind.
_KINDS = {
    "classification": (
        [{"text": text, "label": str(i % 2)} for i, text in enumerate(_TEXTS)],
        {"labels": ("0", "1")},
    ),
    "token_classification": (
        [
            {"words": text.split(), "label": ["B"] + ["O"] * text.count(" f")}
            for text in _TEXTS
        ],
        {"labels": ("O", "B")},
    ),
    "span": (
        [span_row(f"a lazy {text}.", "lazy") for text in _TEXTS],
        {"max_seq_length": 11, "max_query_length": 2, "doc_stride": 3},
    ),
    "multiple_choice": (
        [
            {"context": text, "endings": _ENDINGS, "label": str(i % 2)}
            for i, text in enumerate(_TEXTS)
        ],
        {},
    ),
    "embedding": (
        [
            {"anchor": text, "positive": f"a {text}", "negative": "bad"}
            for text in _TEXTS
        ],
        {"dimensions": "12,5"},
    ),
}


def _examples(name, config, folder):
    rows, settings = _KINDS[name]
    kind = make_kind(name, write_vocab(folder), config, **settings)
    return kind, kind.encode(rows, labeled=True)


def _epoch(examples, *, batch_size=4, **how):
    """Returns the batches of the first epoch, of which the last is small."""
    num_examples = len(examples.lengths)
    assert num_examples % batch_size
    return training_batches(
        examples, batch_size=batch_size, num_epochs=1, seed=3, **how
    )


def _shapes(values):
    return [tuple(x.shape) for x in tf.nest.flatten(values)]


def _are_known(spec):
    return all(x.shape.is_fully_defined() for x in tf.nest.flatten(spec))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("classification", marks=pytest.mark.slow),
        "token_classification",
        "span",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (*list(_KINDS)[3:], "a row for each choice")
        ),
    ],
)
def epochs(request, config, tmp_path_factory):
    """The first epoch in both forms."""
    name = request.param
    with pytest.MonkeyPatch.context() as patch:
        if name not in _KINDS:
            name = "multiple_choice"
            patch.setattr(network_calls, "TOKENS_PER_ROW", 0)
        folder = tmp_path_factory.mktemp(name)
        kind, examples = _examples(name, config, folder)
        static = _epoch(examples, static_shapes=True)
        dynamic = _epoch(examples)
        assert not _are_known(dynamic.element_spec)
        assert examples.packed in (None, request.param == name)
        return types.SimpleNamespace(
            kind=kind,
            spec=static.element_spec,
            static=list(static),
            dynamic=list(dynamic),
        )


def test_all_batches_have_one_shape_which_is_known_before(epochs):
    assert _are_known(epochs.spec)
    shapes = _shapes(epochs.spec)
    assert {shape[0] for shape in shapes} == {4}
    for batch in epochs.static:
        assert _shapes(batch) == shapes
    widths = [f["input_ids"].shape[-1] for f, *_ in epochs.dynamic]
    assert epochs.spec[0]["input_ids"].shape[-1] == max(widths) > min(widths)


def test_every_batch_has_the_same_rows_and_what_fills_it_has_no_weight(epochs):
    last = epochs.dynamic[-1]
    assert len(last[0]["input_ids"]) < 4
    for static, batch in zip(epochs.static, epochs.dynamic, strict=True):
        num_rows = len(batch[0]["input_ids"])
        pairs = zip(*map(tf.nest.flatten, (static, batch)), strict=True)
        for x, expected in pairs:
            padding = [
                (0, i - j) for i, j in zip(x.shape, expected.shape, strict=True)
            ]
            padding[0] = (0, 0)
            np.testing.assert_array_equal(
                x[:num_rows], np.pad(expected, padding)
            )
        features, _, weights = static
        for weight in weights.values():
            assert not weight.numpy()[num_rows:].any()
        # The mean of no tokens would be NaN, and 0 * NaN too.
        is_token = features["input_mask"].numpy() > 0
        assert is_token[num_rows:].any(axis=-1).all()


def test_every_batch_has_the_same_loss(epochs, config):
    kind = epochs.kind
    model = kind.build_model(
        dataclasses.replace(config, max_position_embeddings=40)
    )
    randomize(model, scale=1.0)

    def figures(batch, width):
        features, labels, weights = batch
        outputs = model(features, training=False)
        if kind.name == "span":  # its softmax takes in padding
            outputs = {name: x[:, :width] for name, x in outputs.items()}
        return [
            objective.sums(labels[name], outputs[name], weights[name])["loss"]
            for name, objective in kind.objectives.items()
        ]

    for static, batch in zip(epochs.static, epochs.dynamic, strict=True):
        width = batch[0]["input_ids"].shape[-1]
        sums, expected = (np.array(figures(x, width)) for x in (static, batch))
        assert (expected[:, 1] > 0).all()
        np.testing.assert_array_equal(sums[:, 1], expected[:, 1])
        means, expected = (x[:, 0] / x[:, 1] for x in (sums, expected))
        np.testing.assert_allclose(means, expected, rtol=1e-6, atol=1e-6)


def test_the_shares_of_a_batch_are_its_rows(config, tmp_path):
    """Two of the three shares have no row of the last batch."""
    _, examples = _examples("token_classification", config, tmp_path)

    def batches(*share):
        dataset = _epoch(
            examples, batch_size=6, share=BatchShard(*share), static_shapes=True
        )
        assert _are_known(dataset.element_spec)
        return dataset

    for whole, *parts in zip(
        batches(0, 1), *(batches(i, 3) for i in range(3)), strict=True
    ):
        tf.nest.map_structure(
            lambda whole, *parts: np.testing.assert_array_equal(
                whole, np.concatenate(parts)
            ),
            whole,
            *parts,
        )


def test_the_parts_of_two_devices_have_known_shapes(config, tmp_path, mirrored):
    _, examples = _examples("classification", config, tmp_path)
    dataset = distribute(
        mirrored,
        lambda share: _epoch(examples, share=share, static_shapes=True),
    )
    specs = tf.nest.flatten(dataset.element_spec, expand_composites=True)
    assert len(specs) == 2 * 5
    assert _are_known(specs)
    assert {spec.shape[0] for spec in specs} == {2}


@pytest.mark.parametrize("strategy", ["tpu", "one_device"])
def test_a_run_has_static_shapes_on_a_tpu_only(
    strategy, config, vocab_file, tmp_path, monkeypatch
):
    rows, settings = _KINDS["classification"]
    task = Task(
        kind="classification",
        text_fields=("text",),
        labels=settings["labels"],
        metrics=("accuracy",),
        read=lambda data_dir, split: rows,
        settings={"max_seq_length": 12},
    )
    found = []

    def begin(setup, *rest, **settings):
        found.append(setup.train_batches(0, WHOLE).element_spec)
        raise InterruptedError

    monkeypatch.setattr(training, "train", begin)
    monkeypatch.setattr(
        run, "get_strategy", lambda config: tf.distribute.get_strategy()
    )
    with pytest.raises(InterruptedError):
        run.finetune(
            task,
            tmp_path,
            tmp_path / "out",
            bert_config=config,
            vocab_file=vocab_file,
            config=run.FinetuningConfig(
                train_batch_size=4, distribution_strategy=strategy
            ),
        )
    (spec,) = found
    assert _are_known(spec) == (strategy == "tpu")
