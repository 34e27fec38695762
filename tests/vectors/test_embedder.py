import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
from reference_bert import bert
from safetensors.numpy import load_file, save_file
from small_family import write_family

from keras_bert.errors import InputError
from keras_bert.vectors import embedder as module
from keras_bert.vectors.embedder import load_embedder


class Column(list):
    """A list with an axis, as the column of a DataFrame is."""

    ndim = 1


# In no order of lengths; the third is too long for 9 tokens.
TEXTS = ["a very good dog", "", "lazy " * 9, "the fox", "Unaffable, no?"]
# [CLS] 2, [SEP] 3.
IDS = [
    [2, 6, 28, 25, 15, 3],
    [2, 3],
    [2, *[14] * 7, 3],
    [2, 5, 9, 3],
    [2, 20, 21, 22, 17, 1, 19, 3],
]
POOLINGS = {
    "mean": lambda tokens, pooled: tokens.mean(0),
    "max": lambda tokens, pooled: tokens.max(0),
    "cls": lambda tokens, pooled: tokens[0],
    "pooled": lambda tokens, pooled: pooled,
}


def _expected(checkpoint, config, pooling):
    """The vector of each text by itself, from the reference."""
    weights = load_file(checkpoint / "model.safetensors")
    rows = []
    for ids in IDS:
        features = {
            "input_ids": np.array([ids]),
            "segment_ids": np.zeros((1, len(ids)), int),
            "input_mask": np.ones((1, len(ids)), int),
        }
        outputs = bert(weights, config, features)
        tokens, pooled = outputs["sequence_output"], outputs["pooled_output"]
        rows.append(POOLINGS[pooling](tokens[0], pooled[0]))
    return np.array(rows)


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "pooling",
    [
        "mean",
        "pooled",
        pytest.param("max", marks=pytest.mark.slow),
        pytest.param("cls", marks=pytest.mark.slow),
    ],
)
def test_vectors_equal_the_reference(checkpoint, config, pooling, caplog):
    embedder = load_embedder(
        checkpoint, pooling=pooling, normalize=False, max_seq_length=9
    )
    vectors = embedder.embed(TEXTS, batch_size=2)
    expected = _expected(checkpoint, config, pooling)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert "1 of 5 texts were longer than 9 tokens and were cut" in caplog.text


@pytest.mark.usefixtures("eagerly")
def test_shorter_vectors_have_the_length_1(checkpoint, config):
    embedder = load_embedder(checkpoint, max_seq_length=9, dimensions=5)
    expected = _unit(_expected(checkpoint, config, "mean")[:, :5])
    np.testing.assert_allclose(embedder.embed(TEXTS), expected, atol=1e-5)
    assert embedder.size == 5


def test_the_order_and_the_batches_do_not_matter(embedder, monkeypatch):
    vectors = embedder.embed(TEXTS)
    monkeypatch.setattr(module, "_TEXTS_PER_CHUNK", 3)
    reverse = embedder.embed(TEXTS[::-1], batch_size=2)
    np.testing.assert_allclose(reverse[::-1], vectors, atol=1e-6)
    assert embedder.embed([]).shape == (0, 12)


def test_a_fingerprint_tells_models_apart(checkpoint, embedder, config):
    again = load_embedder(checkpoint, max_seq_length=9)
    assert again.fingerprint() == embedder.fingerprint()
    others = [
        load_embedder(checkpoint, max_seq_length=9, **changes)
        for changes in (
            {"dimensions": 5},
            {"pooling": "cls"},
            {"bert_config": dataclasses.replace(config, hidden_act="relu")},
        )
    ]
    (weight, *_) = others[0].model.weights
    found = {other.fingerprint() for other in (embedder, *others)}
    weight.assign(weight + 1e-3)
    found.add(others[0].fingerprint())
    assert len(found) == 5


@pytest.mark.slow
def test_a_fingerprint_tells_tokenizers_apart(tmp_path):
    folder = write_family(tmp_path / "model", "roberta")
    (folder / "checksums.json").unlink(missing_ok=True)
    file, found = folder / "tokenizer.json", set()
    for adds_space in (False, True):
        values = json.loads(file.read_text())
        values["pre_tokenizer"]["add_prefix_space"] = adds_space
        file.write_text(json.dumps(values))
        found.add(load_embedder(folder).fingerprint())
    assert len(found) == 2


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"dimensions": 13}, "dimensions is 13, but must be from 1 to 12"),
        ({"dimensions": 0}, "dimensions is 0, but must be from 1 to 12"),
        ({"dimensions": 5.5}, "dimensions is 5.5, but must be from 1 to 12"),
        ({"prompts": "query: "}, "prompts is 'query: ', but must be a JSON"),
        ({"prompts": ["query: "]}, "prompts is .* but must be a string"),
        ({"prompts": {"query": 3}}, "prompts is .* but must be a JSON object"),
        ({"prompts": {"": "is "}}, "prompts is .* but must be a JSON object"),
        ({"default_prompt_name": "query"}, "no prompt 'query'; it has no"),
        ({"pooling": "sum"}, "pooling is 'sum', but must be one of mean"),
        ({"max_seq_length": 17}, "max_seq_length 17 is over"),
        ({"max_seq_length": 0}, "max_seq_length is 0, but must be at least 4"),
    ],
)
def test_nonsense_is_refused(checkpoint, changes, message):
    with pytest.raises(InputError, match=message):
        load_embedder(checkpoint, **{"max_seq_length": 9} | changes)


@pytest.mark.parametrize(
    "texts", [tuple(TEXTS), np.array(TEXTS), iter(TEXTS), Column(TEXTS)]
)
def test_texts_in_any_sequence(embedder, texts):
    np.testing.assert_allclose(
        embedder.embed(texts), embedder.embed(TEXTS), atol=1e-6
    )


class Table(Column):
    """A DataFrame; to go through it gives the names of its columns."""

    ndim = 2

    def __repr__(self):
        return "   text"


@pytest.mark.parametrize(
    "texts, message",
    [
        ("the fox", "texts is 'the fox'; give a list of strings"),
        (b"the fox", "texts is b'the fox'; give a list of strings"),
        (None, "texts is None; give a list of strings"),
        ({"text": TEXTS}, "texts is {'text': .*; give a list of strings"),
        (set(TEXTS), "texts is {.*; give a list of strings"),
        (np.array("the fox"), "texts is array.*; give a list of strings"),
        (np.array([TEXTS]), "texts is array.*; give a list of strings"),
        (Table(["text"]), "texts is    text; give a list"),
        (np.ones(3), "Text 1 is np.float64.*; give a string"),
        (["the fox", 7], "Text 2 is 7; give a string"),
        ([{"text": "the fox"}], "Text 1 is {'text': .*; give a string"),
        (["the \ud83d"], "Text 1 has .*, which is not valid Unicode"),
    ],
)
def test_wrong_texts_are_refused(embedder, texts, message):
    with pytest.raises(InputError, match=message):
        embedder.embed(texts)


@pytest.mark.parametrize("size", [0, "8", None])
def test_a_wrong_batch_size_is_refused(embedder, size):
    message = re.escape(f"batch_size is {size!r}, but must be a whole number")
    with pytest.raises(InputError, match=message):
        embedder.embed(["the fox"], batch_size=size)
    with pytest.raises(InputError, match=message):
        embedder.embed([], batch_size=size)
    with pytest.raises(InputError, match=message):
        list(embedder.batches(["the fox"], ["a dog"], size=size))


def test_a_checkpoint_without_a_pooler_has_no_pooled_vectors(
    checkpoint, tmp_path
):
    folder = shutil.copytree(checkpoint, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    save_file(
        {k: x for k, x in weights.items() if not k.startswith("pooler/")},
        folder / "model.safetensors",
    )
    with pytest.raises(InputError, match="has no pooler"):
        load_embedder(folder, pooling="pooled", max_seq_length=9)
    assert load_embedder(folder, pooling="cls", max_seq_length=9).size == 12


def test_a_model_of_another_kind_is_refused(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint, tmp_path / "m")
    (folder / "task.json").write_text(
        '{"kind": "regression", "text_fields": ["text"], "labels": [], '
        '"metrics": [], "settings": {}}'
    )
    with pytest.raises(InputError, match="is a model of the kind regression"):
        load_embedder(folder)
