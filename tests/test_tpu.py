"""What a TPU needs of a training step and of an evaluation step.

No TPU is needed: TensorFlow compiles a step for a TPU with the same kernels
(tf2xla) that compile it for a CPU, and this looks at what they make of it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from kind_examples import make_kind
from span_examples import span_row
from tensorflow.python.framework import kernels  # no public name

from keras_bert.config import BertConfig
from keras_bert.finetuning.batches import training_batches
from keras_bert.models.flops import count_work
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.objectives import Objective
from keras_bert.training.optimizers.adam import AdamWeightDecay
from keras_bert.training.steps import Steps

# From kTpuAllTypes in tensorflow/core/tpu/tpu_defs.h. A TPU has no units for 64
# bits, so only seeds and sizes may have them. A resource is a variable.
_TYPES = {
    tf.float32,
    tf.bool,
    tf.int32,
    tf.uint32,
    tf.int64,
    tf.uint64,
    tf.resource,
}
# tensorflow/python/tpu/tpu_replication.py refuses them, or they run on the
# host in the middle of a step.
_NOT_ON_A_TPU = {"Print", "PrintV2", "PyFunc", "EagerPyFunc"}
# In the compiled program: what leaves the device, and sizes that are known only
# when it runs.
_LEAVES_THE_DEVICE = {"custom-call", "infeed", "outfeed", "send", "recv"}
_DYNAMIC = {"set-dimension-size", "get-dimension-size", "dynamic-reshape"}

_TEXTS = ["a good film", "the lazy dog", "not bad", "a quick brown fox"]
_LABELS = ("bad", "good", "odd")
# Labels, and four rows of each kind.
_KINDS = {
    "classification": (_LABELS, ["bad", "odd", "good", "bad"]),
    "multilabel": (_LABELS, [["bad"], [], ["odd", "bad"], ["good"]]),
    "regression": ((), ["1", "2.5", "0", "3"]),
    "multiple_choice": ((), ["1", "0", "0", "1"]),
    "token_classification": (
        ("O", "B-A", "I-A"),
        [["O"] * len(text.split()) for text in _TEXTS],
    ),
    "span": ((), None),
    "embedding": ((), [None] * 4),
}
_IN_WINDOWS = " in windows"
_SETTINGS = {
    "span": {"max_query_length": 4},
    f"embedding{_IN_WINDOWS}": {
        "window_pooling": "mean",
        "max_seq_length": 5,
        "doc_stride": 2,
    },
}


def _rows(name):
    labels = _KINDS[name][1]
    if name == "span":
        return [span_row(text, text.split()[0]) for text in _TEXTS]
    return [
        {
            "text": text,
            "words": text.split(),
            "context": text,
            "endings": ["fox", "a very bad movie"],
            "anchor": text,
            "positive": "fox",
            "negative": "a very bad movie",
            **({} if label is None else {"label": label}),
        }
        for text, label in zip(_TEXTS, labels, strict=True)
    ]


def _pretraining(config):
    random = np.random.default_rng(1)
    features = {
        "input_ids": random.integers(5, 31, (4, 9)),
        "input_mask": np.arange(9) < random.integers(5, 9, (4, 1)),
        "segment_ids": np.zeros((4, 9)),
        "masked_lm_positions": random.integers(0, 5, (4, 3)),
    }
    labels = {
        "masked_lm": random.integers(0, 31, (4, 3)),
        "next_sentence": random.integers(0, 2, 4),
    }
    objective = Objective(cross_entropy, {"accuracy": accuracy})
    return (
        build_pretraining_model(config),
        dict.fromkeys(labels, objective),
        lambda features: count_work(features, config=config, num_labels=2),
        (
            {name: x.astype("int32") for name, x in features.items()},
            {name: y.astype("int32") for name, y in labels.items()},
            {
                "masked_lm": np.ones((4, 3), "float32"),
                "next_sentence": np.ones(4, "float32"),
            },
        ),
    )


def _finetuning(name, config, vocab_file):
    settings = _SETTINGS.get(name, {})
    name = name.removesuffix(_IN_WINDOWS)
    labels = _KINDS[name][0]
    kind = make_kind(name, vocab_file, config, labels=labels, **settings)
    examples = kind.encode(_rows(name), labeled=True)
    model = kind.build_model(config)
    batches = training_batches(
        examples, batch_size=4, num_epochs=1, seed=1, static_shapes=True
    )
    (batch,) = batches.take(1)
    return model, kind.objectives, kind.work_counter(config), batch


@pytest.fixture(
    params=[
        pytest.param("pretraining", marks=pytest.mark.slow),
        pytest.param("pretraining in two parts", marks=pytest.mark.slow),
        "classification",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (*list(_KINDS)[1:], f"embedding{_IN_WINDOWS}")
        ),
    ]
)
def trained(request, config, vocab_file):
    """Steps that XLA compiles, and a batch of static shapes."""
    if request.param == "pretraining":
        return _steps(*_pretraining(config))
    if request.param == "pretraining in two parts":
        return _steps(*_pretraining(config), gradient_accumulation_steps=2)
    return _steps(*_finetuning(request.param, config, vocab_file))


def _steps(
    model, objectives, count_work, batch, *, jit_compile=True, **settings
):
    trained = Steps(
        model,
        objectives,
        AdamWeightDecay(0.003),
        count_work=count_work,
        jit_compile=jit_compile,
        **settings,
    )
    return trained, tf.nest.map_structure(tf.constant, batch)


def _operations(graph):
    """The operations of a graph and of all functions that it calls."""
    yield from graph.get_operations()
    for function in graph._functions.values():
        yield from function.graph.get_operations()


def _has_xla_kernel(name):
    registered = kernels.get_registered_kernels_for_op(name).kernel
    return any(kernel.device_type == "XLA_CPU_JIT" for kernel in registered)


@pytest.mark.parametrize("step", ["train_step", "test_step"])
def test_a_step_compiles_for_a_tpu(trained, step):
    model, batch = trained
    compiled = tf.function(
        getattr(model, step), jit_compile=True, autograph=False
    )
    graph = compiled.get_concrete_function(batch).graph
    operations = [
        operation
        for operation in _operations(graph)
        if operation.type != "Placeholder"  # arguments of functions
    ]
    assert len(operations) > 100
    types = {tensor.dtype for op in operations for tensor in op.outputs}
    types |= {tensor.dtype for tensor in graph.inputs}
    assert types <= _TYPES
    names = {operation.type for operation in operations}
    assert not names & _NOT_ON_A_TPU
    assert not {name for name in names if not _has_xla_kernel(name)}

    program = compiled.experimental_get_compiler_ir(batch)(stage="hlo")
    used = set(re.findall(r"= \S+ ([a-z][a-z-]*)\(", program))
    assert {"dot", "gather", "parameter"} <= used
    assert not used & (_LEAVES_THE_DEVICE | _DYNAMIC)
    shapes = set(re.findall(r"\b([a-z]+\d+)\[([\d,<=]*)\]", program))
    assert ("f32", "12") in shapes  # a bias
    assert not [sizes for _, sizes in shapes if "<=" in sizes]
    # Of 64 bits: only a seed, or a counter of random numbers.
    wide = {sizes for dtype, sizes in shapes if dtype.endswith("64")}
    assert wide <= {"", "1", "2", "3"}


@pytest.mark.slow  # the compiler takes half a minute
def test_the_compiler_of_tpus_takes_a_step():
    pytest.importorskip("libtpu", reason="the compiler is not installed")
    root = Path(__file__).parent.parent
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    table = subprocess.run(
        [
            sys.executable,
            root / "benchmarks" / "tpu_compile.py",
            "--only=bert_tiny, pre-training, accumulated",
        ],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    *_, row = table.splitlines()
    step, chip, batch_size, tokens, arguments, *_ = row.strip("| ").split(" | ")
    assert step == "bert_tiny, pre-training, accumulated over 4"
    assert (chip, batch_size, tokens) == ("v5e", "32", "128")
    # Weights and two moments, of four bytes each.
    network = build_pretraining_model(BertConfig.from_name("bert_tiny"))
    size = sum(3 * 4 * int(np.prod(v.shape)) for v in network.trainable_weights)
    assert arguments == f"{size / 1e9:.2f} GB"


@pytest.mark.parametrize(
    "jit_compile", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_an_execution_of_several_steps_is_a_loop_in_the_graph(
    config, jit_compile
):
    model, batch = _steps(
        *_pretraining(config), jit_compile=jit_compile, steps_per_execution=3
    )
    iterator = iter(tf.data.Dataset.from_tensors(batch).repeat(7))
    graph = model._take_steps.get_concrete_function(iterator).graph
    (loop,) = [op for op in graph.get_operations() if op.type == "While"]
    body = graph._functions[loop.get_attr("body").name].graph
    in_body = [operation.type for operation in _operations(body)]
    assert in_body.count("IteratorGetNext") == 1
    assert "AssignVariableOp" in in_body and "MatMul" in in_body
    compiled = [
        operation
        for operation in body.get_operations()
        if operation.type == "StatefulPartitionedCall"
        and operation.get_attr("_XlaMustCompile")
    ]
    in_compiled = {
        operation.type
        for call in compiled
        for operation in _operations(
            body._functions[call.get_attr("f").name].graph
        )
    }
    assert ("MatMul" in in_compiled) == jit_compile
    if not jit_compile:  # it takes long to compile
        for num_steps in (3, 6):
            model.train(iterator)
            assert model.optimizer.iterations == num_steps
