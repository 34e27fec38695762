"""Fine-tuning that trains a part of the weights, or some at another rate."""

import dataclasses
import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from fit_steps import fit
from kind_examples import make_kind
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.adapters import BaseModel
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning import load_finetuned
from keras_bert.finetuning.adaptation import adapt, learning_rate_factors
from keras_bert.finetuning.run import FinetuningConfig, finetune
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.tasks.base import Task
from keras_bert.training.distribution import distribute, precision
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import Steps

CONFIG = FinetuningConfig(
    learning_rate=0.01,
    train_batch_size=6,
    eval_batch_size=7,
    num_train_epochs=2,
)
LORA = dataclasses.replace(
    CONFIG, lora_rank=3, lora_alpha=5.0, lora_targets="query,attention/output"
)
ADAPTED = ("attention/output", "attention/query")
HEAD = [
    f"{layer}/{name}"
    for layer in ("classifier", "pooler/dense")
    for name in ("bias", "kernel")
]


def _rows(num_rows, seed):
    random = np.random.default_rng(seed)
    words = random.choice(["the", "a", "film", "was", "bad", "good"], num_rows)
    return [
        {"text": f"{word} film", "label": "yes" if word == "good" else "no"}
        for word in words
    ]


SPLITS = {"train": _rows(18, 1), "validation": _rows(11, 2)}


def _read(data_dir, split):
    if split not in SPLITS:
        raise FileNotFoundError("no test set")
    return SPLITS[split]


TASK = Task(
    kind="classification",
    text_fields=("text",),
    labels=("no", "yes"),
    metrics=("accuracy",),
    read=_read,
    settings={"max_seq_length": 8},
)


@pytest.fixture(scope="module")
def folder(config, tmp_path_factory):
    """A folder with `base` and `other`, pre-trained models that differ."""
    folder = tmp_path_factory.mktemp("adaptation")
    keras.utils.set_random_seed(3)
    for name, scale in (("base", 0.0), ("other", 0.3)):
        write_checkpoint(
            folder / name, config, build=build_pretraining_model, scale=scale
        )
    return folder


def _finetune(folder, name, config, base="base", **kwargs):
    return finetune(
        TASK,
        folder,
        folder / name,
        checkpoint=folder / base,
        config=config,
        cache_dir=folder / "encoded",
        **kwargs,
    )


@pytest.fixture(scope="module")
def results(folder):
    """The results of a run with LoRA, in `lora`, of 2 epochs of 3 steps."""
    tf.config.run_functions_eagerly(True)
    try:
        return _finetune(folder, "lora", LORA)
    finally:
        tf.config.run_functions_eagerly(False)


def _weights(folder):
    return load_file(folder / "model.safetensors")


@pytest.mark.slow
def test_checkpoints_hold_adapters_and_head(folder, results):
    for name in ("best", "checkpoints/step-00000003"):
        weights = _weights(folder / "lora" / name)
        assert sorted(weights) == sorted(
            HEAD
            + [
                f"layer_{i}/{layer}/lora_kernel_{x}"
                for i in range(2)
                for layer in ADAPTED
                for x in "ab"
            ]
        )
        a = weights["layer_1/attention/query/lora_kernel_a"]
        b = weights["layer_1/attention/query/lora_kernel_b"]
        assert (a.shape, b.shape) == ((12, 3), (3, 12))
        assert np.abs(b).max() > 0
        adapters = json.loads(
            (folder / "lora" / name / "adapters.json").read_text()
        )
        assert adapters["base_checkpoint"] == str(folder / "base")
        assert adapters["lora_alpha"] == 5
    state = load_file(
        folder / "lora/checkpoints/step-00000006/training_state.safetensors"
    )
    trained = 8 + 4  # two moments each, the steps and the learning rate
    moments = [x for name, x in state.items() if name.startswith("Adam")]
    assert sum(x.ndim > 0 for x in moments) == 2 * trained


def test_the_adapters_are_merged_into_the_kernels(folder, results):
    base = _weights(folder / "base")
    part = _weights(folder / "lora/best")
    finetuned = load_finetuned(folder / "lora")
    for weight in finetuned.model.weights:
        layer, _, name = weight.path.rpartition("/")
        if weight.path in HEAD:
            expected = part[weight.path]
        elif layer.endswith(ADAPTED) and name == "kernel":
            product = (
                part[f"{layer}/lora_kernel_a"] @ part[f"{layer}/lora_kernel_b"]
            )
            expected = base[weight.path] + np.float32(5 / 3) * product
            assert np.abs(product).max() > 1e-4
        else:
            expected = base[weight.path]
        np.testing.assert_array_equal(weight.numpy(), expected, weight.path)
    figures = finetuned.evaluate(SPLITS["validation"])
    assert figures == pytest.approx(results, rel=1e-5)


@pytest.mark.parametrize(
    ("precision", "atol"),
    [
        ("float32", 1e-6),
        pytest.param("mixed_bfloat16", 0.02, marks=pytest.mark.slow),
    ],
)
def test_merged_equals_unmerged(folder, results, precision, atol):
    merged = load_finetuned(folder / "lora")
    keras.config.set_dtype_policy(precision)
    try:
        model = merged.kind.build_model(merged.bert_config)
    finally:
        keras.config.set_dtype_policy("float32")
    load_checkpoint(model, folder / "base")
    adapt(model, LORA)
    part = _weights(folder / "lora/best")
    # Larger than the short run made them.
    part = {
        name: 30 * x if name.endswith("_b") else x for name, x in part.items()
    }
    for weight in model.weights:
        if weight.path in part:
            weight.assign(part[weight.path])
    larger = folder / f"larger_{precision}"
    shutil.copytree(folder / "lora/best", larger)
    save_file(part, larger / "model.safetensors")
    (larger / "checksums.json").unlink()
    examples = merged.kind.encode(SPLITS["validation"], labeled=False)
    features, *_ = examples.batch(tf.range(7))
    expected = load_finetuned(larger).model(features)["logits"].numpy()
    before = merged.model(features)["logits"].numpy()
    assert np.abs(expected - before).max() > 0.05
    for training in (False, True):  # other code, but the same function
        for layer in model._flatten_layers():
            if hasattr(layer, "rate"):
                layer.rate = 0.0
        logits = model(features, training=training)["logits"]
        np.testing.assert_allclose(logits, expected, atol=atol, rtol=0)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_resumed_run_is_bit_equal(folder, results):
    shutil.copytree(folder / "lora", folder / "resumed")
    shutil.rmtree(folder / "resumed/checkpoints/step-00000006")
    _finetune(folder, "resumed", LORA)
    for file in ("model", "training_state"):
        for name in ("lora", "resumed"):
            path = folder / name / f"checkpoints/step-00000006/{file}"
            weights = load_file(f"{path}.safetensors")
            if name == "lora":
                expected = weights
        assert weights.keys() == expected.keys()
        for path, weight in weights.items():
            np.testing.assert_array_equal(weight, expected[path], path)


def test_a_whole_copy_and_other_formats(folder, results):
    finetuned = load_finetuned(folder / "lora")
    finetuned.save(folder / "copy")
    assert not (folder / "copy/adapters.json").exists()
    convert_checkpoint(folder / "lora", folder / "theirs", "huggingface")
    for name in ("copy", "theirs"):
        model = finetuned.kind.build_model(finetuned.bert_config)
        load_checkpoint(model, folder / name)
        for a, b in zip(model.weights, finetuned.model.weights, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)


def test_adapters_of_a_model_with_adapters(folder, results):
    shutil.copytree(folder / "lora/best", folder / "second")
    base = BaseModel.of(folder / "lora", lora_alpha=6.0)
    (folder / "second/adapters.json").write_text(base.to_json())
    first, second = (
        {w.path: w.numpy() for w in load_finetuned(folder / x).model.weights}
        for x in ("lora", "second")
    )
    part = _weights(folder / "second")
    layer = "layer_0/attention/query"
    product = part[f"{layer}/lora_kernel_a"] @ part[f"{layer}/lora_kernel_b"]
    np.testing.assert_array_equal(
        second[f"{layer}/kernel"], first[f"{layer}/kernel"] + 2 * product
    )
    other = BaseModel.of(folder / "second", lora_alpha=6.0)
    assert other.base_fingerprint != base.base_fingerprint


def test_the_base_may_move_but_not_change(folder, results, tmp_path):
    run = tmp_path / "best"
    shutil.copytree(folder / "lora/best", run)
    weights = [w.numpy() for w in load_finetuned(run).model.weights]
    described = json.loads((run / "adapters.json").read_text())

    def move(place):
        described["base_checkpoint"] = str(place)
        (run / "adapters.json").write_text(json.dumps(described))

    move(tmp_path / "gone")
    with pytest.raises(InputError, match=r"not at .*gone.*adapters\.json"):
        load_finetuned(run)
    move(folder / "other")
    with pytest.raises(
        InputError, match="were not trained on .*other; put the ri"
    ):
        load_finetuned(run)
    # The fingerprint is that of any format, and of any heads.
    convert_checkpoint(folder / "base", tmp_path / "moved", "google_tf1")
    move(tmp_path / "moved")
    again = load_finetuned(run).model.weights
    for weight, expected in zip(again, weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected)
    for values in ({"base": 3}, described | {"lora_alpha": "8"}):
        (run / "adapters.json").write_text(json.dumps(values))
        with pytest.raises(InputError, match=r"adapters\.json is damaged"):
            load_finetuned(run)
    (run / "adapters.json").unlink()
    with pytest.raises(FileNotFoundError, match="copy the whole folder"):
        load_finetuned(run)


@pytest.mark.slow
def test_a_run_resumes_with_its_base_only(folder, results):
    with pytest.raises(InputError, match="started with other initial w"):
        _finetune(folder, "lora", LORA, base="other")
    with pytest.raises(InputError, match="lora_rank 3 instead of 0"):
        _finetune(folder, "lora", CONFIG)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("classification", {"labels": TASK.labels}),
        ("multilabel", {"labels": TASK.labels}),
        ("multiple_choice", {}),
        ("regression", {}),
        ("span", {"max_query_length": 4}),
        ("token_classification", {"labels": TASK.labels}),
    ],
)
def test_every_kind_takes_adapters(folder, config, name, spec):
    kind = make_kind(name, folder / "base/vocab.txt", config, **spec)
    model = kind.build_model(config)
    adapt(model, dataclasses.replace(CONFIG, lora_rank=5))
    adapters = [
        f"layer_{i}/attention/{layer}/lora_kernel_{x}"
        for i in range(2)
        for layer in ("query", "value")
        for x in "ab"
    ]
    trained = [w.path for w in model.trainable_weights]
    assert [path for path in trained if path.startswith("layer")] == adapters
    head = [path for path in trained if path not in adapters]
    assert head and not any(path.startswith("embeddings") for path in head)


def _train(folder, strategy, config, num_steps=4):
    """Takes some steps without dropout; returns the losses and the weights."""
    keras.utils.set_random_seed(5)
    bert_config = dataclasses.replace(
        BertConfig.from_json(folder / "base/bert_config.json"),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    kind = make_kind(
        "classification",
        folder / "base/vocab.txt",
        bert_config,
        labels=TASK.labels,
        max_seq_length=8,
    )
    with strategy.scope(), precision(config.precision):
        model = kind.build_model(bert_config)
        load_checkpoint(model, folder / "base")
        adapt(model, config)
        trained = Steps(
            model,
            kind.objectives,
            build_optimizer(config, 50, 1, learning_rate_factors(config, 2)),
            count_work=kind.work_counter(bert_config),
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            jit_compile=config.jit_compile == "on",
        )
    examples = kind.encode(SPLITS["train"], labeled=True)
    features = examples.batch(tf.range(18))
    batches = tf.data.Dataset.from_tensor_slices(features).batch(6).repeat()
    history = fit(
        trained,
        distribute(strategy, lambda share: batches),
        steps_per_epoch=1,
        epochs=num_steps,
    )
    return history["loss"], {w.path: w.numpy() for w in model.weights}


ONE_DEVICE = tf.distribute.get_strategy()
EVERYTHING = dataclasses.replace(LORA, layer_decay=0.5, head_learning_rate=0.02)


@pytest.fixture(scope="module")
def one_device(folder):
    return _train(folder, ONE_DEVICE, EVERYTHING)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"distribution_strategy": "mirrored"},
        {"gradient_accumulation_steps": 3},
        {"jit_compile": "on"},
    ],
)
def test_every_way_to_train_gives_the_same(
    folder, one_device, mirrored, changes
):
    strategy = mirrored if "distribution_strategy" in changes else ONE_DEVICE
    config = dataclasses.replace(EVERYTHING, **changes)
    losses, weights = _train(folder, strategy, config)
    np.testing.assert_allclose(losses, one_device[0], rtol=1e-5)
    for path, weight in one_device[1].items():
        np.testing.assert_allclose(weights[path], weight, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam_weight_decay", "adamw"])
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_adapters_learn_in_other_precisions(folder, precision, optimizer):
    config = dataclasses.replace(
        EVERYTHING, precision=precision, optimizer=optimizer
    )
    losses, weights = _train(folder, ONE_DEVICE, config, num_steps=24)
    assert losses[-1] < losses[0] / 2
    b = weights["layer_0/attention/query/lora_kernel_b"]
    assert b.dtype == "float32" and np.abs(b).max() > 1e-3


@pytest.mark.parametrize("config", [CONFIG, LORA])
def test_the_same_rate_everywhere_needs_no_factors(config):
    assert learning_rate_factors(config, 2) == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lora_rank": -1}, "lora_rank is -1, but must be at least 0"),
        ({"lora_rank": 13}, "lora_rank is 13, but the smallest dimension of"),
        ({"lora_rank": 2, "lora_alpha": 0.0}, "lora_alpha is 0.0, but must be"),
        ({"lora_rank": 2, "lora_targets": "querry"}, "lora_targets has 'querr"),
        ({"lora_rank": 2, "lora_targets": " ,"}, "lora_targets has ' ,', but"),
        ({"lora_targets": "key"}, "has no effect without lora_rank; give"),
        ({"lora_alpha": 4.0}, "4.0, but has no effect without lora_"),
        ({"lora_rank": 2, "num_frozen_layers": 1}, "are already frozen"),
        ({"lora_rank": 2, "freeze_embeddings": True}, "are already frozen"),
        ({"num_frozen_layers": 3}, "is 3, but the encoder has 2 layers"),
        ({"num_frozen_layers": -1}, "must be at least 0"),
        ({"head_learning_rate": 0.0}, "head_learning_rate is 0.0, but must be"),
        ({"layer_decay": 0.0}, "layer_decay is 0.0, but must be above 0"),
        ({"layer_decay": 1.5}, "layer_decay is 1.5, but must be at most 1"),
    ],
)
def test_nonsense_is_refused(folder, settings, message):
    with pytest.raises(InputError, match=message):
        _finetune(folder, "refused", dataclasses.replace(CONFIG, **settings))
    assert not (folder / "refused").exists()


def test_adapters_need_a_pretrained_encoder(folder, config):
    with pytest.raises(InputError, match="there is no checkpoint"):
        finetune(
            TASK,
            folder,
            folder / "refused",
            bert_config=config,
            vocab_file=folder / "base/vocab.txt",
            config=LORA,
        )
