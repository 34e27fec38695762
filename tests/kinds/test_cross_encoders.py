"""A CrossEncoder as releases 2 to 6 of sentence-transformers save it."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import make_kind

import keras_bert
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.spec import find_spec

IDENTITY = "torch.nn.modules.linear.Identity"
SIGMOID = "torch.nn.modules.activation.Sigmoid"
CONFIG = "config_sentence_transformers.json"
NETWORK = "sentence_bert_config.json"
MODULE = "sentence_transformers.base.modules.transformer.Transformer"
# What release 6.2 writes.
FILES = {
    "modules.json": [{"idx": 0, "name": "0", "path": "", "type": MODULE}],
    CONFIG: {
        "__version__": {"sentence_transformers": "6.2.0"},
        "activation_fn": IDENTITY,
        "default_prompt_name": None,
        "model_type": "CrossEncoder",
        "prompts": {},
    },
    NETWORK: {
        "transformer_task": "sequence-classification",
        "modality_config": {
            "text": {"method": "forward", "method_output_name": "logits"}
        },
        "module_output_name": "scores",
    },
}
PAIRS = [("the fox", "a lazy dog"), ("the fox", "a good film")]


@pytest.fixture(scope="module")
def ours(config, tmp_path_factory):
    """A reranker, and its folder in the format of transformers."""
    from conftest import write_vocab

    folder = tmp_path_factory.mktemp("cross_encoder")
    kind = make_kind(
        "reranker", write_vocab(folder), config, score_activation="linear"
    )
    network = kind.build_model(config)
    randomize(network)
    model = FinetunedModel(network, kind, config)
    model.save(folder / "ours")
    convert_checkpoint(folder / "ours", folder / "theirs", "huggingface")
    return model, folder / "theirs"


@pytest.fixture
def write(ours, tmp_path):
    """Writes a folder with some files of sentence-transformers."""

    def write(files, **config):
        folder = tmp_path / f"written_{len(list(tmp_path.iterdir()))}"
        shutil.copytree(ours[1], folder)
        values = json.loads((folder / "config.json").read_text())
        del values["sentence_transformers"]
        files = {"config.json": values | config, **files}
        for name, values in files.items():
            (folder / name).write_text(json.dumps(values))
        return folder

    return write


def _scores(model, pairs=PAIRS):
    return [answer["score"] for answer in model.predict(pairs)]


def _with(name, **changes):
    return {**FILES, name: FILES[name] | changes}


def test_each_release_says_the_activation(write):
    without_modules = {CONFIG: FILES[CONFIG]}
    in_config = {"sentence_transformers": {"activation_fn": IDENTITY}}
    old = {"sbert_ce_default_activation_function": IDENTITY}
    sigmoid = _with(CONFIG, activation_fn=SIGMOID)
    for folder, activation in (
        (write(FILES), "linear"),
        (write(without_modules), "linear"),
        (write({}, **in_config), "linear"),
        (write({}, **old), "linear"),
        (write({}), "sigmoid"),
        (write(sigmoid), "sigmoid"),
        (write(sigmoid, **in_config), "sigmoid"),
    ):
        checkpoint = Checkpoint.of(folder)
        spec = find_spec(checkpoint, checkpoint.config)
        assert spec.kind == "reranker"
        assert spec.settings.score_activation == activation


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_score_is_a_logit_or_its_sigmoid(ours, write):
    logits = _scores(ours[0])
    linear, sigmoid = map(keras_bert.load_finetuned, (write(FILES), write({})))
    assert _scores(linear) == pytest.approx(logits, abs=1e-5)
    probabilities = (1 / (1 + np.exp(-np.array(logits)))).tolist()
    assert _scores(sigmoid) == pytest.approx(probabilities, abs=1e-5)
    ranked = linear.rank(*_rank(PAIRS))
    assert [x["score"] for x in ranked] == sorted(logits, reverse=True)


def _rank(pairs):
    return pairs[0][0], [document for _, document in pairs]


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_prompt_comes_before_the_first_text(ours, write, tmp_path):
    prompts = {"prompts": {"q": "a film "}, "default_prompt_name": "q"}
    folder = write(_with(CONFIG, **prompts))
    model = keras_bert.load_finetuned(folder)
    with_prompt = [("a film " + query, other) for query, other in PAIRS]
    expected = _scores(ours[0], with_prompt)
    assert _scores(model) == expected
    assert expected != _scores(ours[0])
    serve = model.kind.signatures(model.model)["serving_default"].function
    columns = map(tf.constant, zip(*PAIRS, strict=True))
    assert serve(*columns)["score"].numpy() == pytest.approx(expected, abs=1e-5)
    with pytest.raises(InputError, match="puts a prompt before a text"):
        model.explain(PAIRS[0])
    with pytest.raises(InputError, match="no place for the prompt 'a film '"):
        convert_checkpoint(folder, tmp_path / "converted", "huggingface")
    rows = [
        {"query": query, "document": other, "label": i}
        for i, (query, other) in enumerate(PAIRS)
    ]
    task = keras_bert.Task(
        kind="reranker",
        text_fields=("query", "document"),
        metrics=("pearson",),
        read=lambda folder, split: rows,
        settings={"max_seq_length": 12},
    )
    keras_bert.finetune(task, tmp_path, tmp_path / "out", checkpoint=folder)
    trained = keras_bert.load_finetuned(tmp_path / "out").kind.spec.settings
    assert trained.score_activation == "linear"
    assert trained.prompt() == "a film "


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (CONFIG, {"activation_fn": "torch.nn.Tanh"}, "activation 'torch.nn.T"),
        (CONFIG, {"truncate_dim": 3}, "truncate_dim: 3, but .* files wit"),
        (
            CONFIG,
            {"model_type": "SparseEncoder", "activation_fn": None},
            "model_type: 'SparseEncoder', but .* only 'SentenceTransformer'",
        ),
        (CONFIG, {"speed": 3}, "speed: 3, but .* only files without it"),
        (
            NETWORK,
            {"transformer_task": "fill-mask"},
            "transformer_task: 'fill-mask', but .* 'sequence-classification'",
        ),
        (
            NETWORK,
            {"model_args": {"num_labels": 3}},
            "model_args: {'num_labels': 3}, but .* only files without it",
        ),
        (
            NETWORK,
            {"modality_config": {"image": {}}},
            "modality_config: {'image': {}}, but .* only {'text': ",
        ),
    ],
)
def test_what_is_not_known_is_refused(name, changes, message, write):
    with pytest.raises(InputError, match=message):
        keras_bert.load_finetuned(write(_with(name, **changes)))


def test_only_a_reranker_has_a_prompt(write):
    prompts = {"prompts": {"q": "a film ", "p": ""}}
    for name in ("q", "p"):
        files = _with(CONFIG, **prompts, default_prompt_name=name)
        folder = write(files, problem_type="regression")
        if name == "p":  # the prompt is empty
            assert keras_bert.load_finetuned(folder).kind.name == "regression"
            continue
        with pytest.raises(InputError, match="the prompt 'a film ' before"):
            keras_bert.load_finetuned(folder)


def test_a_second_module_is_refused(write):
    files = {**FILES, "modules.json": FILES["modules.json"] * 2}
    message = "with the modules Transformer, Transformer, but this pack"
    with pytest.raises(InputError, match=message):
        keras_bert.load_finetuned(write(files))


def test_options_of_pytorch_change_nothing(write):
    options = {"model_args": {"torch_dtype": "float32"}, "unpad_inputs": None}
    files = _with(NETWORK, **options, max_seq_length=9, tokenizer_args={})
    loaded = keras_bert.load_finetuned(write(files))
    assert loaded.kind.spec.settings.max_seq_length == 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["identity", "sigmoid", "nli"])
def test_the_scores_are_those_of_sentence_transformers(name, shared):
    folder = shared / f"golden/retrievers/cross_encoder_{name}"
    expected = json.loads((folder / "expected.json").read_text())
    pairs = [tuple(pair) for pair in expected["pairs"]]
    wanted = np.array(expected["scores"])
    if name == "nli":
        model = keras_bert.load_finetuned(
            folder, text_fields=("premise", "hypothesis")
        )
        answers = [[*x["scores"].values()] for x in model.predict(pairs)]
        wanted = np.exp(wanted) / np.exp(wanted).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(answers, wanted, atol=1e-5)
        return
    model = keras_bert.load_finetuned(folder)
    np.testing.assert_allclose(_scores(model, pairs), wanted, atol=1e-5)
    ranked = model.rank(*_rank(pairs[:6]))
    assert [x["index"] for x in ranked] == [
        x["corpus_id"] for x in expected["rank"]
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("colbert", "model_type: 'MultiVectorEncoder'"),
        ("colbert_stanford", "architecture 'HF_ColBERT'"),
        ("splade", "model_type: 'SparseEncoder'"),
        ("splade_inference_free", "whose network is .*modules.router.Router"),
        ("static_embedder", "whose network is .*StaticEmbedding, but this"),
    ],
)
def test_other_retrievers_are_named(name, message, shared):
    with pytest.raises(InputError, match=message):
        keras_bert.load_finetuned(shared / "golden/retrievers" / name)
