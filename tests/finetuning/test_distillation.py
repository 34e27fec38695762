"""A network learns from a larger one."""

import dataclasses
import functools
import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize, write_vocab
from fit_steps import fit
from kind_examples import make_kind
from safetensors.numpy import load_file
from span_examples import span_row

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning import FinetunedModel, load_finetuned
from keras_bert.finetuning.distillation import check_distillation, distill
from keras_bert.finetuning.run import FinetuningConfig, finetune
from keras_bert.tasks.base import Task
from keras_bert.training.distribution import distribute
from keras_bert.training.optimizers.adam import AdamWeightDecay
from keras_bert.training.steps import Steps

ONE_DEVICE = tf.distribute.get_strategy()
LARGE = BertConfig(
    vocab_size=31,
    hidden_size=16,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=24,
    max_position_embeddings=18,
)
LAYERS = {0: 0, 1: 3}
WEIGHT, TEMPERATURE = 0.3, 2.5
CONFIG = FinetuningConfig(
    distillation_weight=WEIGHT,
    distillation_temperature=TEMPERATURE,
    hidden_layer_map="0:0,1:3",
    relation_layer_map="2:3",
    num_relation_heads=2,
    relation_weight=0.7,
    learning_rate=0.01,
    train_batch_size=6,
    eval_batch_size=7,
    num_train_epochs=2,
    save_checkpoints_steps=2,
)

TEXTS = ["a good film", "the lazy dog . dog", "not", "a quick brown fox ,", "?"]
# Labels of the kind, one label for each text, and settings.
KINDS = {
    "classification": (("x", "y", "z"), ["x", "z", "y", "x", "z"], {}),
    "windows": (
        ("x", "y", "z"),
        ["x", "z", "y", "x", "z"],
        {"window_pooling": "max", "max_seq_length": 5, "doc_stride": 2},
    ),
    "multilabel": (("x", "y"), [["x"], [], ["y", "x"], ["y"], []], {}),
    "regression": ((), ["1", "2.5", "0", "3", "-1"], {}),
    "multiple_choice": ((), ["1", "0", "0", "1", "1"], {}),
    "token_classification": (
        ("O", "B-A"),
        [["O"] * (len(text.split()) - 1) + ["B-A"] for text in TEXTS],
        {},
    ),
    "span": ((), None, {"max_query_length": 4, "doc_stride": 3}),
}
_QUICK = "classification", "span"


def rows_of(name):
    if name == "span":
        return [span_row(text, text.split()[0]) for text in TEXTS]
    return [
        {
            "text": text,
            "words": text.split(),
            "context": text,
            "endings": ["fox", "a very bad movie", text],
            "label": label,
        }
        for text, label in zip(TEXTS, KINDS[name][1], strict=True)
    ]


def kind_of(name, folder, config, **changes):
    labels, _, settings = KINDS[name]
    name = "classification" if name == "windows" else name
    return make_kind(
        name,
        write_vocab(folder),
        config,
        **{"labels": labels, **settings, **changes},
    )


def save_teacher(kind, tmp_path, config=LARGE):
    """Saves a network with random weights; returns it and its folder."""
    model = kind.build_model(config)
    randomize(model)
    FinetunedModel(model, kind, config).save(tmp_path / "teacher")
    return model, tmp_path / "teacher"


# A split draws other random numbers.
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def log_softmax(x):
    x = np.asarray(x, "float64") - np.max(x, axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def log_sigmoid(x):
    return -np.logaddexp(0, -np.asarray(x, "float64"))


def soft_loss(name, teacher, logits):
    """The loss of each label, in NumPy."""
    t, x = (np.asarray(y, "float64") / TEMPERATURE for y in (teacher, logits))
    if name == "regression":
        return np.mean(np.square(np.subtract(teacher, logits)), axis=-1)
    if name == "multilabel":
        p = np.exp(log_sigmoid(t))
        losses = -(p * log_sigmoid(x) + (1 - p) * log_sigmoid(-x))
    else:
        losses = -np.sum(np.exp(log_softmax(t)) * log_softmax(x), axis=-1)
    return losses * TEMPERATURE**2 / (2 if name == "span" else 1)


def hidden_states(model, features, layer):
    """Runs the layers of an encoder one by one."""
    encoder = model
    for name in ("bert_classifier", "bert_encoder"):
        if any(x.name == name for x in encoder.layers):
            encoder = encoder.get_layer(name)
    shape = features["input_mask"].shape
    flat = {n: tf.reshape(x, (-1, x.shape[-1])) for n, x in features.items()}
    x, _ = encoder.get_layer("embeddings")(
        flat["input_ids"], flat["segment_ids"], flat.get("position_ids")
    )
    x = tf.reshape(x, (-1, x.shape[-1]))
    for i in range(layer):
        x = encoder.get_layer(f"layer_{i}")(
            x, flat["input_mask"], packed="position_ids" in flat
        )
    return np.reshape(x, (*shape, x.shape[-1])).astype("float64")


def projections(model, features, layer):
    """Returns the mask [B, S] and the projections [B, S, H] of a layer."""
    x = hidden_states(model, features, layer - 1)
    mask = features["input_mask"].numpy()
    mask = mask.reshape(-1, mask.shape[-1])
    weights = {w.path: w.numpy().astype("float64") for w in model.weights}
    found = {}
    for name in ("query", "key", "value"):
        path = f"layer_{layer - 1}/attention/{name}"
        y = x @ weights[f"{path}/kernel"] + weights[f"{path}/bias"]
        found[name] = y.reshape(*mask.shape, -1)
    return mask, found


def pairs_of_tokens(x, y, num_heads):
    """Vectors [B, S, H] -> the scaled products of their parts, [B, N, S, S]."""
    x, y = (z.reshape(*z.shape[:2], num_heads, -1) for z in (x, y))
    return np.einsum("bsnd,btnd->bnst", x, y) / np.sqrt(x.shape[-1])


def relation_loss(model, teacher, features, layer, its_layer, num_heads):
    """The divergence of relations (arXiv 2012.15828, equation 2), in NumPy."""
    mask, of_model = projections(model, features, layer)
    _, of_teacher = projections(teacher, features, its_layer)
    is_pair = (mask[:, :, None] == mask[:, None]) & (mask > 0)[:, None]
    loss = 0.0
    for name in ("query", "key", "value"):
        log_p, log_q = (
            log_softmax(
                np.where(
                    is_pair[:, None],
                    pairs_of_tokens(x[name], x[name], num_heads),
                    -1e9,
                )
            )
            for x in (of_teacher, of_model)
        )
        divergences = (np.exp(log_p) * (log_p - log_q)).sum(-1)  # [B, N, S]
        loss += np.average(divergences.mean(1), weights=mask > 0)
    return loss


def steps_of(teaching, kind, config):
    return Steps(
        teaching.network,
        teaching.objectives,
        AdamWeightDecay(0.01),
        count_work=kind.work_counter(config),
        distillation=teaching,
    )


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[] if x in _QUICK else pytest.mark.slow)
        for x in KINDS
    ],
)
def test_the_loss_of_every_kind(name, config, tmp_path):
    kind = kind_of(name, tmp_path, config)
    teacher, folder = save_teacher(kind_of(name, tmp_path, LARGE), tmp_path)
    model = kind.build_model(config)
    randomize(model)
    check_distillation(folder, kind, config, CONFIG)
    teaching = distill(model, folder, kind, CONFIG)
    trained = steps_of(teaching, kind, config)
    examples = kind.encode(rows_of(name), labeled=True)
    batch = examples.batch(tf.range(len(examples.rows)))
    logs = {n: float(x) for n, x in trained.test_step(batch).items()}

    features, labels, weights = batch
    outputs, its_outputs = (m(features) for m in (model, teacher))
    expected = 0.0
    for output, objective in kind.objectives.items():
        losses = objective.loss(labels[output], outputs[output])
        expected += (1 - WEIGHT) * np.average(losses, weights=weights[output])
        losses = soft_loss(name, its_outputs[output], outputs[output])
        loss = np.average(losses, weights=weights[output])
        assert logs[f"soft_{output}_loss"] == pytest.approx(loss, rel=1e-4)
        expected += WEIGHT * loss
    is_token = features["input_mask"].numpy() > 0
    for layer, its_layer in LAYERS.items():
        x = hidden_states(model, features, layer)
        name = f"hidden_{layer}_projection"
        kernel, bias = trained.network.get_layer(name).get_weights()
        errors = hidden_states(teacher, features, its_layer)
        errors = np.square(x @ kernel + bias - errors).mean(-1)
        loss = np.average(errors, weights=is_token)
        assert logs[f"hidden_{layer}_loss"] == pytest.approx(loss, rel=1e-4)
        expected += WEIGHT * loss
    loss = relation_loss(model, teacher, features, 2, 3, num_heads=2)
    assert logs["relations_2_loss"] == pytest.approx(loss, rel=1e-4)
    expected += WEIGHT * CONFIG.relation_weight * loss
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)

    its_weights = {id(w) for w in teacher.weights}
    assert not any(id(w) in its_weights for w in trained.network.weights)
    names = {w.path for w in trained.network.weights} - {
        w.path for w in model.weights
    }
    assert {path.split("/")[0] for path in names} == {
        "hidden_0_projection",
        "hidden_1_projection",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("loss", ["multiple_negatives", "cosent"])
def test_vectors_of_texts(config, tmp_path, loss):
    """The losses of the task look at the whole batch."""
    has_label = {"label": "2"} if loss == "cosent" else {}
    rows = [{"anchor": x, "positive": "film", **has_label} for x in TEXTS]
    settings = {"text_fields": ("anchor", "positive"), "loss": loss}
    deeper = dataclasses.replace(config, num_hidden_layers=3)
    kind, its_kind = (
        make_kind("embedding", write_vocab(tmp_path), c, **settings)
        for c in (config, deeper)
    )
    teacher, folder = save_teacher(its_kind, tmp_path, deeper)
    model = kind.build_model(config)
    randomize(model)
    run = FinetuningConfig(
        distillation_weight=WEIGHT, distillation_temperature=TEMPERATURE
    )
    teaching = distill(model, folder, kind, run)
    trained = steps_of(teaching, kind, config)
    batch = kind.encode(rows, labeled=True).batch(tf.range(5))
    logs = {n: float(x) for n, x in trained.test_step(batch).items()}
    features, labels, weights = batch
    vectors, its_vectors = (m(features)["embeddings"] for m in (model, teacher))
    soft = np.mean(np.square(vectors - its_vectors))
    assert logs["soft_embeddings_loss"] == pytest.approx(soft, rel=1e-4)
    hard = kind.objectives["embeddings"].loss(
        labels["embeddings"], vectors, weights["embeddings"]
    )
    expected = (1 - WEIGHT) * float(hard) + WEIGHT * soft
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_scores_of_attention(config, tmp_path):
    """As TinyBERT: mean squares where both tokens are there, by hand."""
    its_config = dataclasses.replace(LARGE, num_attention_heads=2)
    config = dataclasses.replace(config, num_attention_heads=2)
    kind = kind_of("classification", tmp_path, config)
    its_kind = kind_of("classification", tmp_path, its_config)
    its_model, folder = save_teacher(its_kind, tmp_path, its_config)
    model = kind.build_model(config)
    randomize(model)
    run = FinetuningConfig(
        distillation_weight=1.0,
        output_weight=0.0,
        score_layer_map="1:2,2:3",
        score_weight=0.5,
    )
    check_distillation(folder, kind, config, run)
    trained = steps_of(distill(model, folder, kind, run), kind, config)
    examples = kind.encode(rows_of("classification"), labeled=True)
    batch = examples.batch(tf.range(5))
    logs = {n: float(x) for n, x in trained.test_step(batch).items()}
    expected = 0.0
    for layer, its_layer in ((1, 2), (2, 3)):
        mask, x = projections(model, batch[0], layer)
        _, y = projections(its_model, batch[0], its_layer)
        x, y = (pairs_of_tokens(z["query"], z["key"], 2) for z in (x, y))
        errors = [
            np.square(x[b, :, s, row > 0] - y[b, :, s, row > 0]).mean()
            for b, row in enumerate(mask)
            for s in np.flatnonzero(row)
        ]
        loss = np.mean(errors)
        assert logs[f"scores_{layer}_loss"] == pytest.approx(loss, rel=1e-4)
        expected += 0.5 * loss
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("missing", [["dog"], []], ids=["fewer", "as many"])
def test_a_teacher_with_other_ids(missing, config, tmp_path):
    """It reads the same pieces under its own ids."""
    teacher = kind_of("classification", tmp_path, LARGE)
    its_model, folder = save_teacher(teacher, tmp_path)
    vocab = [x for x in teacher.tokenizer.vocab if x not in missing]
    vocab = [*vocab[:5], *vocab[:4:-1]]  # the words backwards
    few = tmp_path / "few.txt"
    few.write_text("\n".join(vocab) + "\n")
    labels, _, settings = KINDS["classification"]
    small = dataclasses.replace(config, vocab_size=len(vocab))
    kind = make_kind("classification", few, small, labels=labels, **settings)
    check_distillation(folder, kind, small, CONFIG)
    taught = distill(kind.build_model(small), folder, kind, CONFIG)
    rows = [
        row for row in rows_of("classification") if "dog" not in row["text"]
    ]
    batch, its_batch = (
        x.encode(rows, labeled=True).batch(tf.range(len(rows)))[0]
        for x in (kind, teacher)
    )
    assert np.any(batch["input_ids"] != its_batch["input_ids"])
    labels = taught.labels(batch)
    np.testing.assert_array_equal(
        labels["soft_logits"], its_model(its_batch)["logits"]
    )


def train(strategy, kind, config, folder, bert_config, **settings):
    """Returns the figures of two steps, and the weights after them."""
    examples = kind.encode(
        rows_of("multiple_choice") + rows_of("multiple_choice")[:3],
        labeled=True,
    )
    keras.utils.set_random_seed(5)
    with strategy.scope():
        model = kind.build_model(bert_config)
        teaching = distill(model, folder, kind, config)
        trained = Steps(
            teaching.network,
            teaching.objectives,
            # Adam would enlarge the noise of gradients that should be 0.
            keras.optimizers.SGD(0.1),
            count_work=kind.work_counter(bert_config),
            distillation=teaching,
            **settings,
        )

    def batches(share):
        data = tf.data.Dataset.from_tensors(tf.range(8)).repeat(2)
        return data.map(examples.batch).map(lambda *x: share.cut(x))

    history = fit(trained, distribute(strategy, batches), steps_per_epoch=2)
    return history, {w.path: w.numpy() for w in trained.network.weights}


@pytest.fixture(scope="module")
def split(tmp_path_factory, config):
    """Trains on packed choices; and its result on one device."""
    folder = tmp_path_factory.mktemp("split")
    small = dataclasses.replace(config, **NO_DROPOUT)
    kind = kind_of("multiple_choice", folder, small)
    save_teacher(kind_of("multiple_choice", folder, LARGE), folder)

    def run(strategy, **settings):
        return train(
            strategy, kind, CONFIG, folder / "teacher", small, **settings
        )

    return run, run(ONE_DEVICE)


def assert_same(result, expected):
    for values, others in zip(result, expected, strict=True):
        assert values.keys() == others.keys()
        for name, value in others.items():
            np.testing.assert_allclose(
                values[name], value, atol=1e-5, rtol=1e-5, err_msg=name
            )


@pytest.mark.slow
def test_two_replicas_with_micro_batches(split, mirrored):
    run, plain = split
    assert_same(run(mirrored, gradient_accumulation_steps=2), plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"gradient_accumulation_steps": 3}, {"jit_compile": True}],
    ids=str,
)
def test_a_step_is_the_same_however_it_is_split(split, settings):
    run, plain = split
    assert_same(run(ONE_DEVICE, **settings), plain)


def test_a_teacher_with_the_same_weights_pulls_nowhere(tmp_path):
    """A student of the same size that begins as its teacher stays there."""
    kind = kind_of("token_classification", tmp_path, LARGE)
    model, folder = save_teacher(kind, tmp_path)
    config = dataclasses.replace(
        CONFIG,
        distillation_weight=1.0,
        hidden_layer_map="0:0,2:2,3:3",
        relation_layer_map="2:2,3:3",
        score_layer_map="1:1",
    )
    teaching = distill(model, folder, kind, config)
    trained = steps_of(teaching, kind, LARGE)
    assert len(trained.network.weights) == len(model.weights)  # no projections
    features, labels, weights = kind.encode(
        rows_of("token_classification"), labeled=True
    ).batch(tf.range(5))
    labels |= teaching.labels(features)
    with tf.GradientTape() as tape:
        outputs = trained.network(features, training=False)
        losses = [
            objective.weight * objective.loss(labels[name], outputs[name])
            for name, objective in teaching.objectives.items()
        ]
    gradients = tape.gradient(losses, model.trainable_variables)
    assert max(np.abs(tf.convert_to_tensor(x)).max() for x in gradients) < 1e-5


def test_scores_of_layers_that_attend_to_other_tokens(tmp_path):
    """Of the blocks of ModernBERT, the second attends to near tokens only."""
    near = dataclasses.replace(LARGE, local_attention=4)
    kind = kind_of("classification", tmp_path, near)
    _, folder = save_teacher(kind, tmp_path, near)
    for config, maps in ((near, ("1:1,2:1", "1:3")), (LARGE, ("1:3",))):
        for text in maps:
            run = FinetuningConfig(score_layer_map=text)
            with pytest.raises(InputError, match="attend to different tokens"):
                check_distillation(folder, kind, config, run)
    run = FinetuningConfig(score_layer_map="1:1,2:3,3:2")
    check_distillation(folder, kind, near, run)


def test_a_teacher_that_reads_another_prompt(tmp_path):
    prompts = {"prompts": {"query": "fox "}, "default_prompt_name": "query"}
    teacher, kind = (
        make_kind("reranker", write_vocab(tmp_path), LARGE, **settings)
        for settings in (prompts, {})
    )
    _, folder = save_teacher(teacher, tmp_path)
    run = FinetuningConfig()
    check_distillation(folder, teacher, LARGE, run)
    with pytest.raises(InputError, match="has the prompt 'fox ', but the task"):
        check_distillation(folder, kind, LARGE, run)


def task_of(num_rows):
    random = np.random.default_rng(3)
    rows = [
        {
            "text": " ".join(random.choice(["good", "bad", "film"], 3)),
            "label": str(random.choice(["x", "y", "z"])),
        }
        for _ in range(num_rows)
    ]
    return Task(
        kind="classification",
        text_fields=("text",),
        labels=("x", "y", "z"),
        metrics=("accuracy",),
        read=lambda data_dir, split: rows,
        settings={"max_seq_length": 12},
    )


def run(bert_config, folder, out, **changes):
    return finetune(
        task_of(20),
        folder,
        out,
        bert_config=bert_config,
        vocab_file=folder / "vocab.txt",
        teacher=folder / "teacher",
        config=dataclasses.replace(CONFIG, **changes),
    )


@pytest.mark.slow
def test_a_run_resumes_and_leaves_the_small_network(config, tmp_path):
    save_teacher(kind_of("classification", tmp_path, LARGE), tmp_path)
    out = tmp_path / "out"
    results = run(config, tmp_path, out)
    steps = sorted(path.name for path in out.glob("checkpoints/*"))
    assert steps == ["step-00000004", "step-00000006", "step-00000008"]
    last = out / "checkpoints" / steps[-1]
    paths = {w.path for w in load_finetuned(last).model.weights}
    for folder in (last, out / "best"):
        assert load_file(folder / "model.safetensors").keys() == paths
    state = load_file(last / "training_state.safetensors")
    assert "training_only/hidden_1_projection/kernel" in state
    training = json.loads((last / "training.json").read_text())
    assert training["teacher"] == "teacher"
    assert training["config"]["distillation_temperature"] == TEMPERATURE
    finetuned = load_finetuned(out)
    assert finetuned.bert_config == config
    evaluated = finetuned.evaluate(task_of(20).read(None, "validation"))
    # The loss of the labels alone.
    assert evaluated["loss"] == pytest.approx(results["loss"], abs=1e-5)

    killed = tmp_path / "killed"
    first = Path("checkpoints") / steps[0]
    shutil.copytree(out / first, killed / first)
    run(config, tmp_path, killed)
    for file in ("model.safetensors", "training_state.safetensors"):
        arrays, expected = (
            load_file(folder / "checkpoints" / steps[-1] / file)
            for folder in (killed, out)
        )
        assert arrays.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(arrays[name], array, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision(config, tmp_path, precision):
    save_teacher(kind_of("classification", tmp_path, LARGE), tmp_path)
    results = run(config, tmp_path, tmp_path / "out", precision=precision)
    assert np.isfinite(results["loss"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_layer_map": "1"}, "hidden_layer_map is '1'; give pairs"),
        ({"hidden_layer_map": "1:2:3"}, "give pairs of a network layer"),
        ({"hidden_layer_map": "1:-2"}, "give pairs of a network layer"),
        ({"hidden_layer_map": "a:b"}, "give pairs of a network layer"),
        ({"hidden_layer_map": "1:2,1:3"}, "with each network layer only once"),
        ({"relation_layer_map": "0:2"}, "layer 0, the embeddings, has no att"),
        ({"hidden_weight": 3}, "hidden_weight is 3, but has no effect"),
        ({"score_weight": 3}, "score_weight is 3, but has no effect"),
        ({"num_relation_heads": 3}, "num_relation_heads is 3, but has no eff"),
        ({"distillation_weight": 1.2}, "weight is 1.2, but must be at most 1"),
        ({"distillation_weight": -0.1}, "weight is -0.1, but must be at least"),
        ({"distillation_temperature": 0.0}, "temperature is 0.0, but must be"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=message):
        FinetuningConfig(**settings)


def test_a_layer_map_may_have_spaces():
    config = FinetuningConfig(hidden_layer_map="1:3, 2:6")
    assert config.layer_map("hidden") == {1: 3, 2: 6}


@pytest.mark.slow
def test_a_teacher_that_does_not_fit(config, tmp_path):
    classifier = functools.partial(kind_of, "classification", tmp_path)
    kind = classifier(config)
    _, folder = save_teacher(classifier(LARGE), tmp_path)

    def check(kind=kind, teacher=folder, **settings):
        settings = dataclasses.replace(CONFIG, **settings)
        check_distillation(teacher, kind, config, settings)
        distill(kind.build_model(config), teacher, kind, settings)

    check()
    words = [*kind.tokenizer.vocab[:-1], "new"]
    (tmp_path / "other.txt").write_text("\n".join(words) + "\n")
    tokenizer = type(kind.tokenizer)(tmp_path / "other.txt", True)
    for changed, message in (
        ({"teacher": tmp_path / "none"}, "No checkpoint at"),
        ({"teacher": None}, "distillation_weight needs a teacher"),
        (
            {"kind": kind_of("multilabel", tmp_path, config)},
            "has the kind 'classification', but the task has 'multilabel'",
        ),
        (
            {"kind": classifier(config, labels="xy")},
            "has the labels",
        ),
        (
            {"kind": classifier(config, text_fields=("left", "right"))},
            "has the text_fields",
        ),
        (
            {"kind": type(kind)(kind.spec, tokenizer)},
            "pieces of the network's vocabulary, such as",
        ),
        (
            {"kind": classifier(config, do_lower_case=False)},
            "has the tokenizer settings",
        ),
        ({"hidden_layer_map": "1:4"}, "layer 4 of the teacher, which has 3"),
        ({"hidden_layer_map": "3:1"}, "layer 3 of the network, which has 2"),
        (
            {"kind": kind_of("windows", tmp_path, config)},
            "has the window_pooling 'none'",
        ),
    ):
        with pytest.raises((InputError, FileNotFoundError), match=message):
            check(**changed)
    with pytest.raises(InputError, match="nothing is trained; leave the teach"):
        run(config, tmp_path, tmp_path / "out", num_train_epochs=0)
    assert not (tmp_path / "out").exists()
