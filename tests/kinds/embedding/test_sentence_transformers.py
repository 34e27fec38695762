"""Folders of sentence-transformers are read and written."""

import json
import shutil

import pytest
import tensorflow as tf
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.resize.checkpoint import keep_layers
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.finetuning import load_finetuned
from keras_bert.finetuning.folder import is_finetuned
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.vectors.embedder import load_embedder

LIBRARY = "sentence_transformers.models"
TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
POOLING = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
TEXTS = ["a very good dog", "the fox", "lazy " * 12]
# What release 6.2 writes.
NEW = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": TRANSFORMER},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": POOLING},
    ],
    "1_Pooling/config.json": {
        "embedding_dimension": 12,
        "pooling_mode": "max",
        "include_prompt": True,
    },
    "sentence_bert_config.json": {
        "transformer_task": "feature-extraction",
        "module_output_name": "token_embeddings",
    },
    "config_sentence_transformers.json": {
        "default_prompt_name": None,
        "prompts": {"document": "", "query": ""},
        "similarity_fn_name": "cosine",
    },
}
NEW_SETTINGS = {
    "pooling": "max",
    "normalize": False,
    "max_seq_length": 11,
    "prompts": '{"document": "", "query": ""}',
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, config):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "encoder", config)


def _write(folder, files):
    for name, values in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(values))


def _read(folder, name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def _convert(checkpoint, folder, **settings):
    settings = {"max_seq_length": 9} | settings
    convert_checkpoint(
        checkpoint, folder, "sentence_transformers", settings=settings
    )
    return folder


@pytest.fixture
def new(new_files, tmp_path):
    return shutil.copytree(new_files, tmp_path / "new")


@pytest.fixture(scope="module")
def new_files(checkpoint, tmp_path_factory):
    """A folder as release 6.2 of sentence-transformers writes it."""
    folder = tmp_path_factory.mktemp("st") / "new"
    convert_checkpoint(checkpoint, folder, "huggingface")
    _write(folder, NEW)
    pieces = (folder / "vocab.txt").read_text().split()
    values = {
        "added_tokens": [{"id": 2, "content": "[CLS]"}],
        "model": {
            "type": "WordPiece",
            "vocab": {piece: i for i, piece in enumerate(pieces)},
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(values))
    (folder / "vocab.txt").unlink()
    _change_tokenizer(folder, model_max_length=11)
    return folder


def _change_tokenizer(folder, **changes):
    name = "tokenizer_config.json"
    _write(folder, {name: _read(folder, name) | changes})


def _check_model(folder, checkpoint, **settings):
    """Checks weights, settings and vocabulary: a fingerprint is of these."""
    expected, found = (
        load_embedder(checkpoint, **settings),
        load_embedder(folder),
    )
    for name, value in settings.items():
        assert getattr(found.settings, name) == value
    assert found.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("pooling, normalize", [("mean", True), ("cls", False)])
def test_what_is_written_is_read(checkpoint, tmp_path, pooling, normalize):
    settings = {"pooling": pooling, "normalize": normalize, "max_seq_length": 9}
    folder = _convert(checkpoint, tmp_path / "st", **settings)
    _check_model(folder, checkpoint, **settings)
    again = tmp_path / "again"
    convert_checkpoint(folder, again, "sentence_transformers")
    for file in folder.rglob("*.*"):
        name = file.relative_to(folder)
        assert (again / name).is_dir() or (
            (again / name).read_bytes() == file.read_bytes()
        ), name


def test_the_files_are_those_of_released_models(checkpoint, tmp_path):
    folder = _convert(checkpoint, tmp_path / "st", pooling="max")
    paths = ["", "1_Pooling", "2_Normalize"]
    names = ["Transformer", "Pooling", "Normalize"]
    assert _read(folder, "modules.json") == [
        {"idx": i, "name": str(i), "path": path, "type": f"{LIBRARY}.{name}"}
        for i, (path, name) in enumerate(zip(paths, names, strict=True))
    ]
    pooling = _read(folder, "1_Pooling/config.json")
    assert pooling.pop("word_embedding_dimension") == 12
    assert [name for name, on in pooling.items() if on] == [
        "pooling_mode_max_tokens"
    ]
    assert _read(folder, "sentence_bert_config.json") == {
        "max_seq_length": 9,
        "do_lower_case": False,
    }
    names = set(load_file(folder / "model.safetensors"))
    assert "embeddings.word_embeddings.weight" in names
    assert "pooler.dense.weight" in names
    assert _read(folder, "config.json")["architectures"] == ["BertModel"]


def test_a_folder_of_a_new_release(new, checkpoint):
    _check_model(new, checkpoint, **NEW_SETTINGS)
    assert load_pretrained(new, max_seq_length=16).tokenizer.vocab_size == 31
    # Without a length of its own, a tokenizer has a very large one.
    _change_tokenizer(new, model_max_length=1e30)
    assert load_embedder(new).settings.max_seq_length == 16


def test_our_own_format_keeps_the_pooling(new, checkpoint, tmp_path, caplog):
    convert_checkpoint(new, tmp_path / "ours", "keras")
    _check_model(tmp_path / "ours", checkpoint, **NEW_SETTINGS)
    keep_layers(tmp_path / "ours", tmp_path / "shallow", [0])
    assert load_embedder(tmp_path / "shallow").settings.pooling == "max"
    assert "pooling" not in caplog.text
    keep_layers(new, tmp_path / "without", [0])
    assert "but not its labels, pooling and prompts; to k" in caplog.text


@pytest.mark.parametrize("path", ["0_Transformer", "./a/", "models/encoder"])
def test_a_folder_of_an_old_release(checkpoint, tmp_path, path):
    """Its weights are in 0_Transformer, beside sentence_bert_config.json."""
    folder = _convert(checkpoint, tmp_path / "st", pooling="max")
    inner = folder / path
    inner.mkdir(parents=True)
    for file in list(folder.iterdir()):
        if file.is_file() and file.name != "modules.json":
            shutil.move(file, inner)
    shutil.move(inner / "config_sentence_transformers.json", folder)
    modules = _read(folder, "modules.json")
    modules[0]["path"] = path
    _write(folder, {"modules.json": modules})
    # Other weights may be beside modules.json, for transformers.
    (folder / "model.safetensors").write_bytes(b"")
    for place in (folder, inner):
        _check_model(place, checkpoint, pooling="max", max_seq_length=9)


def test_text_may_be_lower_cased_before_the_tokenizer(new):
    _change_tokenizer(new, do_lower_case=False)
    assert not load_embedder(new).preprocessor.tokenizer.do_lower_case
    _write(new, {"sentence_bert_config.json": {"do_lower_case": True}})
    settings = load_embedder(new).preprocessor.tokenizer.settings
    assert settings.do_lower_case and not settings.strips_accents


def test_the_file_of_an_old_release_names_the_family(new):
    (new / "sentence_bert_config.json").unlink()
    _change_tokenizer(new, do_lower_case=False)
    values = {"max_seq_length": 7, "do_lower_case": True}
    _write(new, {"sentence_xlm-roberta_config.json": values})
    _write(new, {"sentence_xlnet_config.json": {"max_seq_length": 6}})
    embedder = load_embedder(new)
    assert embedder.settings.max_seq_length == 7
    assert embedder.preprocessor.tokenizer.do_lower_case


DENSE = {"path": "2_Dense", "type": f"{LIBRARY}.Dense"}
NORMALIZE = {"path": "3_Normalize", "type": f"{LIBRARY}.Normalize"}
# The values of a file, and what is said about them.
REFUSED = {
    "modules.json": [
        ({}, "modules.json is not a list; copy it again"),
        ([], "has the modules \\(none\\), but only"),
        ([{"path": ""}], "must have a type and a path; copy"),
        ([{"path": 1, "type": "Transformer"}], "must have a type and a path"),
        (
            [*NEW["modules.json"], DENSE | {"type": "a.Dense"}],
            "has the modules Transformer, Pooling, a.Dense, but only",
        ),
        (
            [{"path": "", "type": "custom_st.Transformer"}],
            "has the modules custom_st.Transformer, but only Transformer, Pool",
        ),
        (
            [*NEW["modules.json"], NORMALIZE, DENSE],
            "Pooling, Normalize, Dense, but only .* in this order",
        ),
    ],
    "1_Pooling/config.json": [
        ([1], "config.json is not an object; copy"),
        ({"pooling_mode": 3}, "the pooling 3, but it"),
        ({"pooling_mode": "lasttoken"}, "asks for the pooling lasttoken, but"),
        (
            {"pooling_mode": ["cls", "mean"]},
            "asks for the pooling cls and mean, but it must be one of cls",
        ),
        (
            {"pooling_mode_weightedmean_tokens": True},
            "asks for the pooling pooling_mode_weightedmean_tokens, but",
        ),
    ],
    "2_Dense/config.json": [
        ({"activation_function": "torch.nn.SiLU"}, "activation_function: 'tor"),
        ({"use_residual": True}, "has use_residual: True, but .* only False;"),
        ({"module_input_name": "token_embeddings"}, "has module_input_name: '"),
        ({"module_output_name": "b"}, "has module_output_name: 'b', but thi"),
        ({"out_features": None}, "dense is 'None:tanh', but must be sizes abo"),
    ],
    "config_sentence_transformers.json": [
        (
            {"default_prompt_name": "p", "prompts": {"q": "query: "}},
            "The model has no prompt 'p'; it has q",
        ),
        ({"prompts": ["query: "]}, "prompts is .* but must be a string"),
        (
            {"prompts": {"query": None}},
            "prompts is .* but must be a JSON object that maps names to texts",
        ),
        (
            {"similarity_fn_name": "euclidean"},
            "similarity_fn_name: 'euclidean', but .* only 'cosine' or 'd",
        ),
        (
            {"truncate_dim": 5},
            "has truncate_dim 5; remove truncate_dim from the file, and give "
            "dimensions=5 to lo",
        ),
        (
            {"model_type": "CrossEncoder"},
            "names the architecture 'BertModel', so it is not a fine-tuned",
        ),
    ],
    "sentence_bert_config.json": [
        (
            {"module_output_name": "sentence_embedding"},
            "module_output_name: 'sentence_embedding', .* only 'token_emb",
        ),
        ({"max_seq_length": "9"}, "max_seq_length is '9', but must be a whole"),
    ],
    "tokenizer.json": [([3], "is not a tokenizer")],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(new, name):
    if name == "2_Dense/config.json":
        _write(new, {"modules.json": [*NEW["modules.json"], DENSE]})
    for values, message in REFUSED[name]:
        _write(new, {name: values})
        with pytest.raises(InputError, match=message):
            load_finetuned(new)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_pooling_without_the_prompt_is_refused(new, pooling):
    """A prompt can be given to any model, even if its files have none.

    Release 6 takes the first token after the prompt as [CLS].
    """
    values = {"pooling_mode": pooling, "include_prompt": False}
    _write(new, {"1_Pooling/config.json": values})
    with pytest.raises(InputError, match="pooling must leave out the"):
        load_embedder(new, prompts={"q": "the "})


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_dot_product_is_the_similarity_if_the_model_says_so(
    new, checkpoint
):
    values = {"similarity_fn_name": "dot"}
    _write(new, {"config_sentence_transformers.json": values})
    assert is_finetuned(new)
    model = load_finetuned(new)
    first, second = load_embedder(new).embed(TEXTS[:2])
    (answer,) = model.predict([{"text": TEXTS[0], "other_text": TEXTS[1]}])
    assert answer["similarity"] == pytest.approx(first @ second, rel=1e-5)
    assert answer["similarity"] > 1.1
    rows = [{"text": "a", "other_text": "b"}]
    with pytest.raises(InputError, match="dot, but training compares cosines"):
        model.kind.settings_from_data(rows)
    served = model.kind.signatures(model.model)["similarity"].function
    outputs = served(tf.constant(TEXTS[:1]), tf.constant(TEXTS[1:2]))
    assert outputs["similarity"][0].numpy() == pytest.approx(
        answer["similarity"], rel=1e-5
    )


def test_a_damaged_or_missing_file_is_named(new):
    (new / "1_Pooling" / "config.json").unlink()
    with pytest.raises(
        FileNotFoundError, match="config.json is missing; copy the whole folder"
    ):
        load_finetuned(new)
    (new / "modules.json").write_text("[{")
    with pytest.raises(InputError, match="modules.json is not JSON"):
        load_finetuned(new)


def test_heads_have_no_place(config, tmp_path, caplog):
    folder = write_checkpoint(
        tmp_path / "pretrained", config, build=build_pretraining_model
    )
    _convert(folder, tmp_path / "st")
    assert "Leaving out masked_lm, next_sentence, which" in caplog.text
    names = load_file(tmp_path / "st" / "model.safetensors")
    assert not any(name.startswith("cls.") for name in names)


def test_settings_without_a_place_are_refused(checkpoint, tmp_path):
    with pytest.raises(InputError, match="has the pooling pooled and the"):
        _convert(checkpoint, tmp_path / "st", pooling="pooled")
    with pytest.raises(InputError, match="pooling is a setting of sentence_tr"):
        convert_checkpoint(
            checkpoint, tmp_path / "st", "keras", settings={"pooling": "cls"}
        )
    assert not list(tmp_path.iterdir())
