import json

import numpy as np
import pytest
from reference_bert import bert
from safetensors.numpy import load_file

from keras_bert.errors import InputError
from keras_bert.vectors import embed_files as module
from keras_bert.vectors.embed_files import embed_files
from keras_bert.vectors.embedder import load_embedder

# Single texts and pairs, an empty line, one to cut, no newline at the end.
LINES = (
    "the dog\n\nA fox. ||| not unaffable\n  lazy lazy lazy lazy lazy lazy "
    "lazy lazy dog \r\na ||| the ||| very good"
)
# With [CLS] 2, [SEP] 3 and max_seq_length 9.
IDS = [
    [2, 5, 15, 3],
    [2, 3],
    [2, 6, 9, 16, 3, 27, 20, 21, 3],
    [2, 14, 14, 14, 14, 14, 14, 14, 3],
    [2, 6, 1, 1, 1, 3, 28, 25, 3],
]


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "in.txt").write_bytes(LINES.encode())
    return str(tmp_path / "in.txt")


def _expected(checkpoint, config, ids):
    """The layers' outputs of a line by itself, from the reference."""
    # The second segment begins after the first [SEP], unless that is last.
    segments = np.cumsum([0] + [i == 3 for i in ids[:-1]])
    return bert(
        load_file(checkpoint / "model.safetensors"),
        config,
        {
            "input_ids": np.array([ids]),
            "segment_ids": segments[None],
            "input_mask": np.ones((1, len(ids)), int),
        },
    )


@pytest.mark.slow
def test_json_lines_have_googles_format(
    embedder, checkpoint, config, texts, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(module, "_HIDDEN_LINES_PER_CHUNK", 3)
    out = tmp_path / "out.jsonl"
    layers = [-1, -2, 0]
    assert embed_files(embedder, texts, out, batch_size=2, layers=layers) == 5
    assert {x.name for x in tmp_path.iterdir()} == {"in.txt", "out.jsonl"}
    assert "3 of 5 texts were longer than 9 tokens" in caplog.text
    vocab = (checkpoint / "vocab.txt").read_text().splitlines()
    text = out.read_text()
    assert text.startswith(
        '{"linex_index": 0, "features": [{"token": "[CLS]", "layers": '
        '[{"index": -1, "values": ['
    )
    for number, line in enumerate(text.splitlines()):
        found = json.loads(line)
        assert found.keys() == {"linex_index", "features"}
        assert found["linex_index"] == number
        tokens = [token["token"] for token in found["features"]]
        assert tokens == [vocab[i] for i in IDS[number]]
        expected = _expected(checkpoint, config, IDS[number])
        for place, token in enumerate(found["features"]):
            assert [x["index"] for x in token["layers"]] == layers
            for layer in token["layers"]:
                values = layer["values"]
                assert all(round(x, 6) == x for x in values)
                name = f"layer_{layer['index'] % 2}_output"
                np.testing.assert_allclose(
                    values, expected[name][0][place], atol=1e-5
                )


@pytest.mark.parametrize(
    ("layers", "out", "message"),
    [
        ([2], "a.jsonl", "no layer 2: the model has 2, from -2 to -1, or from"),
        ([-1, -3], "a.jsonl", "There is no layer -3: the model has 2"),
        ([-1], "a.npy", "or with .jsonl for the hidden states of layers"),
        (-1, "a.jsonl", "layers is -1, but must be a list of whole numbers"),
        ("-1", "a.jsonl", "layers is '-1', but must be a list"),
        ([], "a.jsonl", "must end with .npy, or with .jsonl for the hidden"),
    ],
)
def test_wrong_layers_are_refused(
    embedder, texts, tmp_path, layers, out, message
):
    with pytest.raises(InputError, match=message):
        embed_files(embedder, texts, tmp_path / out, layers=layers)
    assert not (tmp_path / out).exists()


def test_states_that_are_not_numbers_are_refused(checkpoint, texts, tmp_path):
    embedder = load_embedder(checkpoint, max_seq_length=9)
    for weight in embedder.model.weights:
        weight.assign(weight * 1e30)
    out = tmp_path / "out.jsonl"
    with pytest.raises(InputError, match="output hidden_states of this model"):
        embed_files(embedder, texts, out, layers=[-1])
    with pytest.raises(InputError, match="output embedding of this model is"):
        embedder.embed(["the fox"])


def test_a_model_in_windows_is_refused(checkpoint, texts, tmp_path):
    settings = {"max_seq_length": 9, "doc_stride": 3, "window_pooling": "mean"}
    embedder = load_embedder(checkpoint, **settings)
    with pytest.raises(InputError, match="reads long texts in windows"):
        embed_files(embedder, texts, tmp_path / "out.jsonl", layers=[-1])
