"""The parts of the comparison on an accelerator, on a CPU."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from comparison import accelerator, measure
from comparison.environments import Environments
from comparison.pictures import draw
from comparison.tables import describe, page
from comparison.work import Contestant, Target, Work

import keras_bert

_ROOT = Path(__file__).parent.parent.parent
_CONTESTANTS = _ROOT / "benchmarks" / "contestants"
_FAKE = """
from contestant import Prepared
PACKAGES = ("pytest",)
def prepare(options):
    def run(case):
        with open(options["notes"], "a") as file:
            file.write(options["name"] + str(case["size"]) + " ")
        return 8.0
    return Prepared(
        run,
        flops=lambda case: 5.0,
        figures=lambda case: {"batch_size": 3, "device_memory": 7e9},
    )
"""


def test_contestants_on_an_accelerator_compile_at_once_and_take_turns(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(measure, "CACHE", tmp_path)
    monkeypatch.setattr(
        measure,
        "environment_variables",
        lambda *_, on_accelerator: os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    (tmp_path / "fake.py").write_text(_FAKE)

    def contestant(name):
        options = {"name": name, "notes": str(tmp_path / "notes")}
        return Contestant(name, "keras_bert", "fake.py", options)

    work = Work(
        name="fake",
        title="A fake work",
        note="",
        cases={"small": {"size": 1}, "large": {"size": 2}},
        contestants=(contestant("a"), contestant("b")),
        matrix_product=contestant("product"),
        rounds=2,
        untimed_rounds=0,
        on_accelerator=True,
    )
    result = measure.measure(work, Environments())
    notes = (tmp_path / "notes").read_text().split()
    for i, size in ((0, 1), (9, 2)):
        turns = [f"{name}{size}" for name in ("a", "b", "product")]
        assert sorted(notes[i : i + 3]) == turns
        assert notes[i + 3 : i + 9] == [*turns, *turns[1:], turns[0]]
    assert result["matrix_product"] == [8.0] * 4
    assert list(result["versions"]) == ["a", "b"]
    figures = result["cases"]["large"]
    assert list(figures) == ["a", "b"]
    assert len(figures["b"].pop("seconds")) == 2
    assert figures["b"] == {
        "flops": 5.0,
        "batch_size": 3,
        "device_memory": 7e9,
    }


@pytest.mark.pictures
def test_table_and_picture(tmp_path):
    def figures(*seconds):
        return {
            "seconds": list(seconds),
            "flops": 6e9,
            "batch_size": 32,
            "device_memory": 5e9,
        }

    work = Work(
        name="fake",
        title="A fake work",
        note="It is done in no time.",
        cases={"small": {}},
        contestants=tuple(
            Contestant(name, "jax", "fake.py") for name in ("keras_bert", "b")
        ),
        targets=(Target("small", "b", 2.0),),
        unit="step",
        on_accelerator=True,
    )
    machine = {
        "processor": "a processor",
        "num_cores": 2,
        "features": ["AVX2"],
        "memory_gb": 5,
        "system": "Linux",
        "python": "3.11",
        "accelerator": {
            "name": "a GPU",
            "memory_gb": 80,
            "driver": "1.2",
            "stated_peak": 30e12,
        },
    }
    result = {
        "machine": machine,
        "versions": {},
        "peak_memory": {},
        "matrix_product": [19e12, 20e12, 23e12],
        "cases": {
            "small": {
                "keras_bert": figures(1e-3, 1e-3, 2e-3),
                "b": figures(4e-3, 3e-3, 4e-3),
            }
        },
    }
    text = page([work], {"fake": result})
    # 6 GFLOP in 1 ms, of 20 and of 30 TFLOP/s; 32 sequences in 32 ms.
    row = "| 32 | 32 ms | 1000 | 30% | 20% | 1.00 | 5.00 GB |"
    assert f"| small | keras_bert {row}\n" in text
    row = "| 32 | 128 ms | 250 | 8% | 5% | 3.00 | 5.00 GB |"
    assert f"| small | b {row}\n" in text
    assert "runs at 20 TFLOP/s. The maker states a peak of 30 TFLOP/s." in text
    assert "Measured on one a GPU with 80 GB and driver 1.2, beside" in text
    assert describe(machine | {"accelerator": None}).startswith("2 cores")
    draw([work], {"fake": result}, tmp_path)
    pictures = sorted(path.name for path in tmp_path.iterdir())
    assert pictures == ["ratios.png", "utilization.png"]


def test_the_accelerator_is_described(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771, 580.1'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert accelerator.describe_accelerator() == {
        "name": "NVIDIA H200",
        "memory_gb": 151,
        "driver": "580.1",
        "stated_peak": 989e12,
    }
    program.unlink()
    assert accelerator.describe_accelerator() is None


@pytest.fixture
def contestants(monkeypatch):
    """Makes the files of contestants importable, as contestant.py does."""
    monkeypatch.syspath_prepend(_CONTESTANTS)


def test_a_step_is_built_once_for_each_case(contestants):
    from accelerator import step

    built = []

    def build(batch_size):
        built.append(batch_size)
        results = iter(range(9))
        return step.Step(lambda: next(results), 5, lambda: 7 * batch_size)

    prepared = step.prepared(build, check=lambda result: [result])
    case = {"batch_size": 3}
    assert [prepared.run(case), prepared.run(case)] == [0, 1]
    assert built == [3]
    assert prepared.scale(case) == 1 / (3 * 5)
    assert prepared.check("a later result") == [0]
    assert prepared.figures(case) == {"batch_size": 3, "device_memory": 21}
    prepared.run({"batch_size": 4})
    prepared.run(case)
    assert built == [3, 4, 3]


@pytest.mark.slow
def test_the_adam_on_jax_is_the_references(contestants):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    from accelerator.jax_adam import apply_gradients, no_moments

    random = np.random.default_rng(3)
    paths = ["dense/kernel", "dense/bias", "layer_norm/gamma"]
    weights = [random.normal(size=s).astype("f") for s in ((5, 3), 3, 7)]
    ours = keras_bert.training.AdamWeightDecay(1e-2)
    variables = []
    for path, weight in zip(paths, weights, strict=True):
        layer, name = path.split("/")
        with keras.name_scope(layer):
            variables.append(keras.Variable(weight, name=name))
    moments = no_moments(weights)
    with jax.default_device(jax.devices("cpu")[0]):
        for size in (0.1, 30.0):  # of the gradients: the norm is over 1 later
            gradients = [
                size * random.normal(size=w.shape).astype("f") for w in weights
            ]
            ours.apply([tf.constant(g) for g in gradients], variables)
            weights, moments = apply_gradients(
                gradients, weights, moments, paths, 1e-2
            )
    for variable, weight in zip(variables, weights, strict=True):
        np.testing.assert_allclose(variable.numpy(), weight, atol=1e-6)


_VARIANTS = """
import sys
import jax
import numpy as np
import keras_bert
from accelerator import networks
from accelerator.training import keras_bert as training
from accelerator.variants import Variants
from random_batches import random_features
assert "tensorflow" not in sys.modules

config = {
    "vocab_size": 1031, "hidden_size": 12, "num_hidden_layers": 2,
    "num_attention_heads": 3, "intermediate_size": 20,
    "max_position_embeddings": 11, "model_type": "bert",
    "initializer_range": 0.5,
}
features = random_features(2, 7, config["vocab_size"])
features["input_mask"][1, 5:] = 0
results = {}
for name in ("", "fused attention", "sequence lengths"):
    Variants([*filter(None, [name])])
    networks._network.cache_clear()
    model = networks.network(
        keras_bert.models.build_encoder,
        config | {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0},
        "float32",
    )
    seeds = [v.value for v in model.non_trainable_variables]

    def output_of(weights):
        outputs, _ = model.stateless_call(
            weights, seeds, features, training=True
        )
        return (outputs["sequence_output"] ** 3).sum(), outputs

    (_, outputs), gradients = jax.value_and_grad(output_of, has_aux=True)(
        [v.value for v in model.trainable_variables]
    )
    kind = type(model.get_layer("layer_0").attention).__name__
    results[kind] = [outputs["sequence_output"], *gradients]
expected = results.pop("SelfAttention")
assert list(results) == ["FusedAttention", "AttentionByLengths"]
for result in results.values():
    for x, y in zip(expected, result, strict=True):
        # At least 1: the gradient of a key's bias is rounding only.
        largest = max(abs(x).max(), 1.0)
        np.testing.assert_allclose(x, y, atol=2e-5 * largest, rtol=0)

case = {
    "config": config | {"initializer_range": 0.02}, "seq_length": 7,
    "num_predictions": 3, "batch_size": 2, "num_steps": 2,
}
losses = {}
for name in ("", "no donation", "rbg"):
    build = training.step_builder({"variants": [*filter(None, [name])]})
    losses[name] = build(**case).run()
# With other random numbers, the dropout is another one.
assert losses["no donation"] == losses[""] != losses["rbg"], losses
assert abs(losses["rbg"] - losses[""]) < 0.1, losses
"""


@pytest.mark.slow  # JAX compiles seven networks
def test_variants_give_the_same():
    pytest.importorskip("jax", reason="jax is not installed")
    subprocess.run(
        [sys.executable, "-c", _VARIANTS],
        env=os.environ
        | {
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(
                [
                    str(_ROOT),
                    str(_CONTESTANTS),
                    os.environ.get("PYTHONPATH", ""),
                ]
            ),
        },
        check=True,
    )
