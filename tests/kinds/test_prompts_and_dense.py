"""Models with named prompts and with Dense modules, from disk to answers."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import save_file
from small_checkpoint import write_checkpoint

from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning import load_finetuned
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.run import finetune
from keras_bert.tasks.base import Task
from keras_bert.vectors.embed_files import embed_files
from keras_bert.vectors.embedder import load_embedder

TEXTS = ["a very good dog", "", "the fox", "lazy " * 12]
PROMPTS = {"query": "good film : ", "document": "the ", "plain": ""}
ACTIVATION = "torch.nn.modules.activation."
MODULES = "sentence_transformers.base.modules"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, config):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "encoder", config)


@pytest.fixture(scope="module")
def weights():
    """12 -> 7 with a bias, 7 -> 5 without one."""
    random = np.random.default_rng(4)
    return [
        {
            "linear.weight": random.normal(size=[7, 12]).astype("float32"),
            "linear.bias": random.normal(size=[7]).astype("float32"),
        },
        {"linear.weight": random.normal(size=[5, 7]).astype("float32")},
    ]


def _write(folder, files):
    for name, values in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(values))


def _write_modules(checkpoint, weights, folder, activations, default=None):
    """Writes a folder as release 6 does, but for the names of its pooling."""
    settings = {"max_seq_length": 12, "normalize": False}
    convert_checkpoint(
        checkpoint, folder, "sentence_transformers", settings=settings
    )
    modules = json.loads((folder / "modules.json").read_text())
    for i, activation in enumerate(activations):
        name = f"{i + 2}_Dense"
        units, size = weights[i]["linear.weight"].shape
        modules.append({"path": name, "type": f"{MODULES}.dense.Dense"})
        values = {
            "in_features": size,
            "out_features": units,
            "bias": "linear.bias" in weights[i],
            "activation_function": activation,
            "module_input_name": "sentence_embedding",
            "module_output_name": "sentence_embedding",
        }
        _write(folder, {f"{name}/config.json": values})
        save_file(weights[i], folder / name / "model.safetensors")
    last = {"path": "9_Normalize", "type": f"{MODULES}.normalize.Normalize"}
    _write(folder, {"modules.json": [*modules, last]})
    prompts = {
        "prompts": PROMPTS,
        "default_prompt_name": default,
        "similarity_fn_name": "cosine",
    }
    _write(folder, {"config_sentence_transformers.json": prompts})
    return folder


@pytest.fixture(scope="module")
def folder(checkpoint, weights, tmp_path_factory):
    return _write_modules(
        checkpoint,
        weights,
        tmp_path_factory.mktemp("st") / "model",
        [f"{ACTIVATION}Tanh", "torch.nn.modules.linear.Identity"],
        "document",
    )


@pytest.fixture(scope="module")
def embedder(folder):
    return load_embedder(folder)


@pytest.fixture(scope="module")
def vectors(checkpoint, weights):
    """Returns what the folder must answer for texts with their prompts."""
    plain = load_embedder(checkpoint, normalize=False, max_seq_length=12)

    def vectors(texts):
        x = plain.embed(texts)
        dense, last = weights
        x = np.tanh(x @ dense["linear.weight"].T + dense["linear.bias"])
        x = x @ last["linear.weight"].T
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return vectors


@pytest.mark.slow
def test_answers_equal_sentence_transformers(shared):
    folder = shared / "golden" / "hub_heads" / "embedder_prompts_dense"
    expected = json.loads((folder / "expected.json").read_text())
    embedder = load_embedder(folder)
    for name in ("plain", "query", "document"):
        prompt_name = None if name == "plain" else name
        found = embedder.embed(expected["texts"], prompt_name=prompt_name)
        np.testing.assert_allclose(found, expected[name], atol=1e-5)


@pytest.mark.slow
def test_a_prompt_stands_before_each_text(embedder, vectors):
    for name in (None, *PROMPTS):
        prompt = PROMPTS[name or "document"]
        np.testing.assert_allclose(
            embedder.embed(TEXTS, prompt_name=name),
            vectors([prompt + text for text in TEXTS]),
            atol=1e-5,
        )
    assert embedder.size == 5


def test_an_unknown_prompt_is_refused(embedder):
    message = "no prompt 'passage'; it has query, document, plain"
    with pytest.raises(InputError, match=message):
        embedder.embed(TEXTS, prompt_name="passage")


def test_files_are_read_with_a_prompt(embedder, tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    out = tmp_path / "out.npy"
    embed_files(embedder, f"{tmp_path}/in.txt", out, prompt_name="query")
    np.testing.assert_allclose(
        np.load(out), embedder.embed(TEXTS, prompt_name="query"), atol=1e-6
    )


def test_prompts_can_be_given(checkpoint, folder):
    """Some models name their prompts on their page only."""
    for prompts in ({"query": "is "}, '{"query": "is "}'):
        settings = load_embedder(
            checkpoint, max_seq_length=9, prompts=prompts
        ).settings
        assert settings.prompt("query") == "is " and settings.prompt() == ""
    settings = load_embedder(folder, default_prompt_name="query").settings
    assert settings.prompt() == PROMPTS["query"]
    settings = load_embedder(folder, default_prompt_name="").settings
    assert settings.prompt() == ""


def test_a_fingerprint_depends_on_prompts(embedder, monkeypatch):
    before = embedder.fingerprint()
    settings = dataclasses.replace(embedder.settings, default_prompt_name="")
    monkeypatch.setattr(embedder, "settings", settings)
    assert embedder.fingerprint() != before


def test_activations(checkpoint, weights, tmp_path):
    names = [f"{ACTIVATION}ReLU", f"{ACTIVATION}GELU"]
    folder = _write_modules(checkpoint, weights, tmp_path / "m", names)
    assert load_embedder(folder).settings.dense == "7:relu,5:gelu_erf"


def test_what_is_written_again_is_the_same_model(folder, embedder, tmp_path):
    convert_checkpoint(folder, tmp_path / "again", "sentence_transformers")
    found = load_embedder(tmp_path / "again")
    assert found.fingerprint() == embedder.fingerprint()
    values, expected = (
        json.loads((x / "config_sentence_transformers.json").read_text())
        for x in (tmp_path / "again", folder)
    )
    assert values == expected
    with pytest.raises(InputError, match="no BERT with the heads dense_0"):
        convert_checkpoint(folder, tmp_path / "hf", "huggingface")


@pytest.fixture(scope="module")
def finetuned(folder):
    return load_finetuned(folder)


@pytest.mark.usefixtures("eagerly")
def test_a_loaded_model_answers_with_the_default_prompt(finetuned, embedder):
    rows = [{"text": TEXTS[0], "other_text": TEXTS[2]}]
    first, second = embedder.embed([TEXTS[0], TEXTS[2]])
    (answer,) = finetuned.predict(rows)
    assert answer["similarity"] == pytest.approx(first @ second, abs=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_there_is_a_signature_for_each_prompt(finetuned, embedder):
    signatures = finetuned.kind.signatures(finetuned.model)
    names = {"serving_default": None, "embed": None}
    names |= {f"embed_{name}": name for name in ["", *PROMPTS]}
    assert signatures.keys() == {*names, "similarity"}
    for signature, name in names.items():
        outputs = signatures[signature].function(tf.constant(TEXTS))
        expected = embedder.embed(TEXTS, prompt_name=name)
        np.testing.assert_allclose(outputs["embedding"], expected, atol=1e-5)
    first, second = embedder.embed(TEXTS[:2])
    texts = tf.constant(TEXTS)
    outputs = signatures["similarity"].function(texts[:1], texts[1:2])
    np.testing.assert_allclose(
        outputs["similarity"], [first @ second], atol=1e-5
    )
    assert finetuned.kind.description()["prompts"] == PROMPTS


ROWS = {
    "train": [
        {"text": "the film", "other_text": "a movie"},
        {"text": "a dog", "other_text": "lazy fox"},
    ],
    "validation": [
        {"text": "a film", "other_text": "the movie", "label": 4.5},
        {"text": "lazy dog", "other_text": "bad movie !", "label": 0.25},
        {"text": "quick fox", "other_text": "the fox", "label": 3.5},
    ],
}
TASK = Task(
    kind="embedding",
    text_fields=("text", "other_text"),
    metrics=("spearman",),
    read=lambda data_dir, split: ROWS[split],
    settings={"max_seq_length": 12},
    test_files={},
)


def _finetune(folder, tmp_path, settings=None, **changes):
    config = FinetuningConfig(num_train_epochs=1, train_batch_size=2, **changes)
    out = tmp_path / "out"
    finetune(
        TASK, tmp_path, out, checkpoint=folder, config=config, settings=settings
    )


@pytest.mark.slow
@pytest.mark.parametrize("lora_rank", [0, 2])
def test_training_goes_on_with_what_the_model_is(
    folder, vectors, tmp_path, lora_rank, caplog
):
    """At a rate of nearly nothing, the vectors stay as they are."""
    _finetune(folder, tmp_path, learning_rate=1e-12, lora_rank=lora_rank)
    found = load_embedder(tmp_path / "out")
    assert found.settings.dense == "7:tanh,5:linear"
    expected = vectors([PROMPTS["query"] + text for text in TEXTS])
    np.testing.assert_allclose(
        found.embed(TEXTS, prompt_name="query"), expected, atol=1e-4
    )
    assert "puts the default prompt 'the ' before each" in caplog.text


@pytest.mark.slow
def test_what_the_model_is_can_be_replaced(folder, tmp_path):
    settings = {"dense": "", "prompts": "", "default_prompt_name": ""}
    _finetune(folder, tmp_path, settings)
    assert load_embedder(tmp_path / "out").size == 12
