"""A step has the same result however its batch is split."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import split_training
import tensorflow as tf
import two_workers

from keras_bert.training.steps import WORK

ONE_DEVICE = tf.distribute.get_strategy()


@pytest.fixture(scope="module")
def plain():
    return split_training.train(ONE_DEVICE)


def _assert_equal(run, plain):
    figures, weights = run
    expected_figures, expected_weights = plain
    assert figures.keys() == expected_figures.keys()
    for name, values in expected_figures.items():
        np.testing.assert_allclose(
            figures[name], values, atol=1e-5, rtol=0, err_msg=name
        )
    for path, weight in expected_weights.items():
        np.testing.assert_allclose(
            weights[path], weight, atol=1e-5, rtol=0, err_msg=path
        )


@pytest.mark.slow
def test_the_loss_is_a_mean_over_all_masked_tokens(plain):
    """The weights are uneven over the rows, as in a real batch."""
    figures, _ = plain
    assert figures.keys() == {
        prefix + name
        for prefix in ("", "val_")
        for name in (
            "loss",
            "masked_lm_loss",
            "masked_lm_accuracy",
            "next_sentence_loss",
            "next_sentence_accuracy",
            "pairs_loss",
            "pairs_accuracy",
        )
    } | {*WORK, "learning_rate"}
    features, labels, weights = split_training.data()
    model = split_training.build_model()
    for weight in model.weights:
        weight.assign(plain[1][weight.path])
    logits = model(features, training=False)
    for name in ("masked_lm", "next_sentence"):
        x = np.asarray(logits[name], "float64")
        log_probs = x - np.log(np.exp(x).sum(-1, keepdims=True))
        chosen = np.take_along_axis(log_probs, labels[name][..., None], -1)
        mean = -np.average(chosen[..., 0], weights=weights[name])
        assert figures[f"val_{name}_loss"][-1] == pytest.approx(mean, abs=1e-5)
        hits = x.argmax(-1) == labels[name]
        assert figures[f"val_{name}_accuracy"][-1] == pytest.approx(
            np.average(hits, weights=weights[name])
        )
    # The held-out batches have 31, 31 and 10 rows.
    losses = [
        split_training.softmax_in_batch(
            labels["pairs"][i : i + 31],
            logits["pairs"][i : i + 31],
            weights["pairs"][i : i + 31],
        )
        for i in (0, 31, 62)
    ]
    mean = np.average(losses, weights=[31, 31, 10])
    assert figures["val_pairs_loss"][-1] == pytest.approx(mean, abs=1e-5)
    assert figures["val_loss"][-1] == pytest.approx(
        sum(
            figures[f"val_{name}_loss"][-1]
            for name in ("masked_lm", "next_sentence", "pairs")
        )
    )


def test_the_work_of_the_training_steps_is_counted(plain):
    """Each epoch starts from 0, and held-out batches do not count."""
    figures, _ = plain
    features, _, _ = split_training.data()
    batches = [slice(i, i + 24) for i in (0, 24, 48)]
    for epoch, steps in enumerate([(0, 1, 2, 0), (1, 2, 0, 1)]):
        assert figures["sequences"][epoch] == 4 * 24
        for name, feature in (("tokens", "input_mask"), ("flops", "input_ids")):
            expected = sum(features[feature][batches[i]].sum() for i in steps)
            assert figures[name][epoch] == expected
    assert figures["tokens"][0] != figures["tokens"][1]


@pytest.mark.parametrize(
    "settings",
    [
        {"gradient_accumulation_steps": 4, "steps_per_execution": 2},
        pytest.param(
            {"gradient_accumulation_steps": 4}, marks=pytest.mark.slow
        ),
        pytest.param({"steps_per_execution": 2}, marks=pytest.mark.slow),
        pytest.param({"jit_compile": True}, marks=pytest.mark.slow),
        pytest.param(
            {"jit_compile": True, "gradient_accumulation_steps": 2},
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
def test_one_device(plain, settings):
    _assert_equal(split_training.train(ONE_DEVICE, **settings), plain)


@pytest.mark.slow  # test_replicas has short ones
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_accumulation_steps": 4, "steps_per_execution": 2},
        {"jit_compile": True},
    ],
    ids=str,
)
def test_two_devices(plain, mirrored, settings):
    _assert_equal(split_training.train(mirrored, **settings), plain)


@pytest.mark.slow
def test_parts_of_unequal_size(plain):
    """A batch of 24 in 5 pieces: 4 or 5 rows each."""
    run = split_training.train(ONE_DEVICE, gradient_accumulation_steps=5)
    _assert_equal(run, plain)


@pytest.mark.slow  # all tests of two processes are
def test_two_workers(plain, tmp_path):
    """TF_CONFIG describes two processes."""
    root = str(Path(__file__).parent.parent.parent)
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                split_training.__file__,
                tmp_path / f"{i}.npz",
                tmp_path / f"out-{i}",
            ],
            env=environment | {"PYTHONPATH": f"{root}{os.pathsep}{root}/tests"},
            stderr=subprocess.PIPE,
        )
        for i, environment in enumerate(two_workers.environments())
    ]
    errors = [worker.communicate(timeout=300)[1] for worker in workers]
    for worker, error in zip(workers, errors, strict=True):
        assert worker.returncode == 0, error.decode()[-2000:]
    runs = []
    for i in range(2):
        arrays = dict(np.load(tmp_path / f"{i}.npz"))
        assert arrays.pop("value_of_chief") == 7  # 11 in the other worker
        # The best score is that of step 4, and the patience 4 steps.
        assert arrays.pop("step_of_early_stop") == 8
        figures = {
            name.removeprefix("figure "): arrays.pop(name)
            for name in list(arrays)
            if name.startswith("figure ")
        }
        runs.append((figures, arrays))
        _assert_equal(runs[-1], plain)
    for path, weight in runs[0][1].items():
        np.testing.assert_array_equal(weight, runs[1][1][path], path)
