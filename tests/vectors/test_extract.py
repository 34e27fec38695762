import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from reference_bert import bert
from safetensors.numpy import load_file, save_file

from keras_bert.models.encoder import build_encoder
from keras_bert.vectors.extract import ExtractionConfig, extract_features

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
def checkpoint(config, vocab_file, tmp_path):
    model = build_encoder(config)
    randomize(model)
    folder = tmp_path / "pretrained"
    folder.mkdir()
    weights = {w.path: w.numpy() for w in model.weights}
    save_file(weights, folder / "model.safetensors")
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "vocab.txt").write_bytes(vocab_file.read_bytes())
    (tmp_path / "in.txt").write_bytes(LINES.encode())
    return folder


@pytest.fixture
def expected(checkpoint, config):
    """The layers' outputs for each line by itself, from the reference."""
    weights = load_file(checkpoint / "model.safetensors")
    lines = []
    for ids in IDS:
        # The second segment begins after the first [SEP], unless that is last.
        segments = np.cumsum([0] + [i == 3 for i in ids[:-1]])
        features = {
            "input_ids": np.array([ids]),
            "segment_ids": segments[None],
            "input_mask": np.ones((1, len(ids)), int),
        }
        lines.append(bert(weights, config, features))
    return [
        {i: line[f"layer_{i % 2}_output"][0] for i in (-1, -2)}
        for line in lines
    ]


def _extract(tmp_path, name, **config):
    count = extract_features(
        tmp_path / "in.txt",
        tmp_path / name,
        tmp_path / "pretrained",
        config=ExtractionConfig(
            max_seq_length=9, batch_size=2, layers="-1,-2", **config
        ),
    )
    assert count == len(IDS)
    assert not list(tmp_path.glob(".*"))
    return tmp_path / name


def test_json_lines_have_googles_format(tmp_path, expected, vocab_file):
    vocab = vocab_file.read_text().splitlines()
    text = _extract(tmp_path, "out.json").read_text()
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
        for place, token in enumerate(found["features"]):
            assert [x["index"] for x in token["layers"]] == [-1, -2]
            for layer in token["layers"]:
                values = layer["values"]
                assert all(round(x, 6) == x for x in values)
                np.testing.assert_allclose(
                    values, expected[number][layer["index"]][place], atol=1e-5
                )


def test_npz(tmp_path, expected):
    arrays = np.load(_extract(tmp_path, "out.npz"))
    assert arrays["input_ids"].tolist() == sum(IDS, start=[])
    splits = arrays["row_splits"].tolist()
    assert splits == [0, 4, 6, 15, 24, 33]
    for layer in (-1, -2):
        assert arrays[f"layer_{layer}"].dtype == np.float32
        np.testing.assert_allclose(
            arrays[f"layer_{layer}"],
            np.concatenate([line[layer] for line in expected]),
            atol=1e-5,
        )


def test_tfrecords(tmp_path, expected):
    path = _extract(tmp_path, "out.tfrecord")
    for number, record in enumerate(tf.data.TFRecordDataset(str(path))):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        assert features["linex_index"].int64_list.value == [number]
        assert features["input_ids"].int64_list.value == IDS[number]
        for layer in (-1, -2):
            np.testing.assert_allclose(
                features[f"layer_{layer}"].float_list.value,
                expected[number][layer].reshape(-1),
                atol=1e-5,
            )
    assert number == len(IDS) - 1


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        ("mean", lambda x: x.mean(0)),
        *(
            pytest.param(*pooling, marks=pytest.mark.slow)
            for pooling in (
                ("cls", lambda x: x[0]),
                ("max", lambda x: x.max(0)),
            )
        ),
    ],
)
def test_poolings_leave_padding_out(tmp_path, expected, pooling, pool):
    arrays = np.load(_extract(tmp_path, "out.npz", pooling=pooling))
    pooled = [[pool(line[i]) for line in expected] for i in (-1, -2)]
    np.testing.assert_allclose(arrays["layer_-1"], pooled[0], atol=1e-5)
    np.testing.assert_allclose(arrays["layer_-2"], pooled[1], atol=1e-5)
    if pooling == "mean":
        path = _extract(tmp_path, "out.jsonl", pooling=pooling)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[2].keys() == {"linex_index", "layers"}
        assert lines[2]["layers"][1]["index"] == -2
        np.testing.assert_allclose(
            lines[2]["layers"][1]["values"], pooled[1][2], atol=1e-5
        )


def test_layers_count_from_both_ends(tmp_path, checkpoint):
    config = ExtractionConfig(layers="0,-2,1", max_seq_length=9)
    path = tmp_path / "out.npz"
    extract_features(tmp_path / "in.txt", path, checkpoint, config=config)
    arrays = np.load(path)
    np.testing.assert_array_equal(arrays["layer_0"], arrays["layer_-2"])
    assert np.abs(arrays["layer_0"] - arrays["layer_1"]).max() > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": "-1;-2"}, "layers is '-1;-2', but must be numbers"),
        (
            {"layers": "2"},
            "no layer 2: the model has 2, from -2 to -1, or",
        ),
        ({"layers": "-1,-3"}, "no layer -3: the model has 2"),
        (
            {"pooling": "sum"},
            "pooling is 'sum', but must be one of none, cls",
        ),
        ({"max_seq_length": 17}, "max_seq_length 17 is over the .* 16"),
        ({"batch_size": 0}, "batch_size is 0, but must be above 0"),
    ],
)
def test_wrong_settings_are_named(tmp_path, checkpoint, change, message):
    values = {"max_seq_length": 9, "layers": "-1"}
    with pytest.raises(ValueError, match=message):
        extract_features(
            tmp_path / "in.txt",
            tmp_path / "out.npz",
            checkpoint,
            config=ExtractionConfig(**values | change),
        )
    assert not (tmp_path / "out.npz").exists()


def test_bad_input_files(tmp_path, checkpoint):
    config = ExtractionConfig(layers="-1", max_seq_length=9)
    out = tmp_path / "out.npz"
    (tmp_path / "in.txt").write_bytes(b"")
    with pytest.raises(ValueError, match="no line to extract features from"):
        extract_features(tmp_path / "in.txt", out, checkpoint, config=config)
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        extract_features(
            tmp_path / "in.txt", checkpoint, checkpoint, config=config
        )
    vocab = tmp_path / "other.txt"
    words = (checkpoint / "vocab.txt").read_text()
    vocab.write_text(words + "more\n")
    with pytest.raises(ValueError, match="other.txt has 32 word pieces, .* 31"):
        extract_features(
            tmp_path / "in.txt",
            out,
            checkpoint,
            vocab_file=vocab,
            config=config,
        )


@pytest.mark.parametrize(
    "do_lower_case", [None, pytest.param(True, marks=pytest.mark.slow)]
)
def test_the_case_comes_from_the_checkpoint(
    tmp_path, checkpoint, do_lower_case
):
    (checkpoint / "tokenizer_config.json").write_text(
        '{"do_lower_case": false}'
    )
    path = _extract(tmp_path, "out.npz", do_lower_case=do_lower_case)
    ids = np.load(path)["input_ids"]
    # "A" is unknown to a cased tokenizer.
    assert ids[7] == (1 if do_lower_case is None else 6)


def test_every_layer_of_a_real_model(shared, tmp_path):
    """Equal to transformers; see golden/minilm."""
    folder = shared / "golden" / "minilm"
    golden = np.load(folder / "expected.npz")
    texts = json.loads((folder / "texts.json").read_text())
    (tmp_path / "in.txt").write_text(
        "".join(a + (f" ||| {b}" if b else "") + "\n" for a, b in texts)
    )
    extract_features(
        tmp_path / "in.txt",
        tmp_path / "out.npz",
        shared / "data" / "checkpoints" / "all-MiniLM-L6-v2",
        config=ExtractionConfig(layers="0,1,2,3,-2,-1", batch_size=4),
    )
    arrays = np.load(tmp_path / "out.npz")
    is_token = golden["input_mask"] == 1
    ids = golden["input_ids"][is_token]
    np.testing.assert_array_equal(arrays["input_ids"], ids)
    for layer in (0, 1, 2, 3, -2, -1):
        np.testing.assert_allclose(
            arrays[f"layer_{layer}"],
            golden[f"layer_{layer % 6}_output"][is_token],
            atol=1e-4,
            rtol=0,
        )
