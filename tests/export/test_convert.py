"""Converting to another format and back keeps every bit."""

import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from full_disk import full_disk
from kind_examples import make_kind
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint
from small_family import write_family

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.config import BertConfig
from keras_bert.export.convert import FORMATS, convert_checkpoint
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import (
    build_classifier,
    build_multiple_choice,
    build_regressor,
    build_span_labeler,
    build_token_classifier,
)
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.tokenizer_settings import TokenizerSettings

BUILDERS = {
    "BertModel": build_encoder,
    "BertForPreTraining": build_pretraining_model,
    "BertForSequenceClassification": lambda c: build_classifier(
        c, num_labels=5
    ),
    "a regression": build_regressor,
    "BertForTokenClassification": lambda c: build_token_classifier(
        c, num_labels=9
    ),
    "BertForQuestionAnswering": build_span_labeler,
    "BertForMultipleChoice": build_multiple_choice,
}
# The network of these tests has 16 positions.
_SETTINGS = {"sentence_transformers": {"max_seq_length": 16}}
# google-research/bert has no code for these heads.
NOT_GOOGLE = {"BertForTokenClassification", "BertForMultipleChoice"}


@pytest.fixture(scope="module", params=BUILDERS)
def saved(request, config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("m") / "ours"
    write_checkpoint(folder, config, build=BUILDERS[request.param])
    return request.param, folder


@pytest.fixture(scope="module")
def encoder(config, tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "ours", config)


def _assert_same_weights(folder, other):
    arrays = load_file(folder / "model.safetensors")
    others = load_file(other / "model.safetensors")
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], name)


def _convert_there_and_back(ours, tmp_path, config, to):
    convert_checkpoint(ours, tmp_path / "theirs", to)
    convert_checkpoint(tmp_path / "theirs", tmp_path / "again", "keras")
    _assert_same_weights(tmp_path / "again", ours)
    assert Checkpoint.of(tmp_path / "again").config == config
    vocab = (ours / "vocab.txt").read_bytes()
    for name in ("theirs", "again"):
        assert (tmp_path / name / "vocab.txt").read_bytes() == vocab


def test_to_googles_format_and_back_is_bit_exact(saved, config, tmp_path):
    name, ours = saved
    if name in NOT_GOOGLE:
        with pytest.raises(ValueError, match="has no name in that format"):
            convert_checkpoint(ours, tmp_path / "theirs", "google_tf1")
        assert not (tmp_path / "theirs").exists()
    else:
        _convert_there_and_back(ours, tmp_path, config, "google_tf1")


def test_to_transformers_and_back_is_bit_exact(saved, config, tmp_path):
    name, ours = saved
    _convert_there_and_back(ours, tmp_path, config, "huggingface")
    values = json.loads((tmp_path / "theirs" / "config.json").read_text())
    expected = "BertForSequenceClassification" if name[0] == "a" else name
    assert values["architectures"] == [expected]
    assert values["hidden_act"] == "gelu_new"
    assert len(values.get("id2label", "")) == {
        "BertForSequenceClassification": 5,
        "BertForTokenClassification": 9,
        "BertForMultipleChoice": 1,
        "a regression": 1,
    }.get(name, 0)
    names = load_file(tmp_path / "theirs" / "model.safetensors").keys()
    first = "" if name == "BertModel" else "bert."
    assert f"{first}embeddings.word_embeddings.weight" in names


def test_googles_names_shapes_and_types(shared, tmp_path):
    golden = shared / "golden" / "tf1_small"
    convert_checkpoint(
        golden / "bert_model.ckpt", tmp_path / "hf", "huggingface"
    )
    convert_checkpoint(tmp_path / "hf", tmp_path / "google", "google_tf1")
    theirs = tf.train.load_checkpoint(str(golden / "bert_model.ckpt"))
    ours = tf.train.load_checkpoint(str(tmp_path / "google/bert_model.ckpt"))
    shapes = theirs.get_variable_to_shape_map()
    assert ours.get_variable_to_shape_map() == shapes
    assert (
        ours.get_variable_to_dtype_map() == theirs.get_variable_to_dtype_map()
    )
    for name in shapes:
        np.testing.assert_array_equal(
            ours.get_tensor(name), theirs.get_tensor(name), name
        )
    assert json.loads((tmp_path / "google/bert_config.json").read_text()) == (
        json.loads((golden / "bert_config.json").read_text())
    )


def test_a_file_of_transformers_comes_back_unchanged(shared, tmp_path):
    minilm = shared / "data" / "checkpoints" / "all-MiniLM-L6-v2"
    convert_checkpoint(minilm, tmp_path / "ours", "keras")
    convert_checkpoint(tmp_path / "ours", tmp_path / "again", "huggingface")
    theirs = load_file(minilm / "model.safetensors")
    theirs.pop("embeddings.position_ids", None)
    ours = load_file(tmp_path / "again" / "model.safetensors")
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, name)
    first, again = (
        json.loads((folder / "config.json").read_text())
        for folder in (minilm, tmp_path / "again")
    )
    common = first.keys() & again.keys() - {"_name_or_path"}
    assert {"hidden_act", "layer_norm_eps", "vocab_size"} <= common
    assert {k: again[k] for k in common} == {k: first[k] for k in common}


@pytest.mark.slow
def test_a_family_with_another_tokenizer(tmp_path):
    """Transformers does not train the embedding of the padding id."""
    folder = write_family(tmp_path / "ours", "modernbert")
    with pytest.raises(ValueError, match="google-research/bert cannot read"):
        convert_checkpoint(folder, tmp_path / "google", to="google_tf1")
    assert not (tmp_path / "google").exists()
    convert_checkpoint(folder, tmp_path / "hf", to="huggingface")
    values = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert values["pad_token_id"] == load_tokenizer(folder).pad_id == 1
    assert values["cls_token_id"] == values["bos_token_id"] == 0
    assert values["sep_token_id"] == values["eos_token_id"] == 2


def test_labels_and_tokenizer_settings_are_kept(config, tmp_path, caplog):
    write_checkpoint(
        tmp_path / "ours",
        config,
        build=lambda c: build_classifier(c, num_labels=2),
    )
    task = {"kind": "my_own", "labels": ["bad", "gut"], "settings": {"a": 1}}
    task |= {"text_fields": ["text"], "metrics": []}
    (tmp_path / "ours" / "task.json").write_text(json.dumps(task))
    settings = TokenizerSettings(False, strip_accents=True)
    (tmp_path / "ours" / "tokenizer_config.json").write_text(
        settings.to_json(model_max_length=9)
    )
    convert_checkpoint(tmp_path / "ours", tmp_path / "theirs", "huggingface")
    theirs = tmp_path / "theirs"
    values = json.loads((theirs / "config.json").read_text())
    assert values["id2label"] == {"0": "bad", "1": "gut"}
    assert values["label2id"] == {"bad": 0, "gut": 1}
    tokenizer = json.loads((theirs / "tokenizer_config.json").read_text())
    names = ("pad", "unk", "cls", "sep", "mask")
    assert tokenizer == {
        "do_lower_case": False,
        "model_max_length": 9,
        "strip_accents": True,
        "tokenize_chinese_chars": True,
        # This class reads from tokenizer.json that a word has 200 characters.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "truncation_side": "right",
        **{f"{name}_token": f"[{name.upper()}]" for name in names},
        "keras_bert": {},
    }
    assert load_tokenizer(theirs).settings == settings
    assert "google-research" not in caplog.text
    convert_checkpoint(tmp_path / "ours", tmp_path / "google", "google_tf1")
    assert load_tokenizer(tmp_path / "google").settings == settings
    assert "pass --do_lower_case=false to google-research" in caplog.text
    assert "ignores strips_accents=True of the tokenizer" in caplog.text


@pytest.mark.parametrize(
    ("capital", "do_lower_case"), [("", True), ("Fox", False)]
)
def test_the_vocabulary_tells_the_case_if_nothing_else_does(
    encoder, tmp_path, capital, do_lower_case
):
    shutil.copytree(encoder, tmp_path / "ours")
    with (tmp_path / "ours" / "vocab.txt").open("a") as vocab:
        vocab.write(capital)
    for to in FORMATS:
        convert_checkpoint(
            tmp_path / "ours", tmp_path / to, to, settings=_SETTINGS.get(to)
        )
        file = tmp_path / to / "tokenizer_config.json"
        assert json.loads(file.read_text())["do_lower_case"] == do_lower_case


def test_impossible_conversions_are_named(config, tmp_path, caplog):
    config = dataclasses.replace(config, directionality="left_to_right")
    write_checkpoint(tmp_path / "ours", config)
    with pytest.raises(ValueError, match="transformers has no left-to-right"):
        convert_checkpoint(tmp_path / "ours", tmp_path / "hf", "huggingface")
    assert not (tmp_path / "hf").exists()
    convert_checkpoint(tmp_path / "ours", tmp_path / "google", "google_tf1")
    assert "ignores directionality=left_to_right" in caplog.text


@pytest.mark.parametrize("to", ["huggingface", "google_tf1"])
@pytest.mark.parametrize(
    ("kind", "settings", "lost"),
    [
        (
            "embedding",
            {"pooling": "cls", "normalize": False, "loss": "cosent"},
            "pooling=cls, normalize=False, so",
        ),
        ("embedding", {"window_pooling": "max"}, "window_pooling=max, so"),
        (
            "span",
            {"max_query_length": 4, "answers_may_be_missing": True},
            "answers_may_be_missing=True, so",
        ),
        (
            "token_classification",
            {"inner_punctuation": "."},
            "inner_punctuation=., so",
        ),
        ("classification", {"class_weights": "balanced"}, ""),
        ("embedding", {"scale": 3.0}, ""),
    ],
)
def test_lost_settings_are_named(
    kind, settings, lost, to, config, vocab_file, tmp_path, caplog
):
    """Settings of the training are not: they do not change the answers."""
    if kind == "token_classification" and to == "google_tf1":
        pytest.skip("the format has no such head")
    labels = ("O", "B-X") if "class" in kind else ()
    settings = {"max_seq_length": 16, "labels": labels, **settings}
    kind = make_kind(kind, vocab_file, config, **settings)
    model = FinetunedModel(kind.build_model(config), kind, config)
    model.save(tmp_path / "ours")
    convert_checkpoint(tmp_path / "ours", tmp_path / "theirs", to)
    assert lost in caplog.text
    assert bool(lost) == ("has no place for" in caplog.text)
    hint = {"embedding": "convert it to sentence_transformers"}
    if lost:
        assert hint.get(kind.name, "in our format, keras") in caplog.text


_CONVERT = """
import re, sys
from keras_bert import convert_checkpoint
convert_checkpoint(*sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.slow
def test_bert_large_stays_under_3_gb(tmp_path, vocab_file):
    """1.34 GB of weights; all 24 layers have the same."""
    config = BertConfig.from_name("bert_large_uncased")
    one_layer = dataclasses.replace(config, num_hidden_layers=1)
    arrays = {
        path.replace("layer_0/", f"layer_{i}/"): weight.numpy()
        for weight in build_pretraining_model(one_layer).weights
        for path in [weight.path]
        for i in range(24 if path.startswith("layer_0/") else 1)
    }
    (tmp_path / "keras").mkdir()
    save_file(arrays, tmp_path / "keras" / "model.safetensors")
    (tmp_path / "keras" / "bert_config.json").write_text(config.to_json())
    shutil.copy(vocab_file, tmp_path / "keras")
    for source, to in (
        ("keras", "huggingface"),
        ("huggingface", "google_tf1"),
        ("google_tf1", "huggingface"),
        ("google_tf1", "keras"),
    ):
        out = tmp_path / f"{to} from {source}"
        child = subprocess.run(
            [sys.executable, "-c", _CONVERT, tmp_path / source, out, to],
            check=True,
            capture_output=True,
            text=True,
        )
        peak_gb = int(child.stdout) * 1024 / 1e9
        print(f"{source} to {to}: peak {peak_gb:.2f} GB")
        assert 1.3 < peak_gb < 3
        if (tmp_path / to).exists():
            shutil.rmtree(out)
        else:
            out.rename(tmp_path / to)


@pytest.mark.parametrize("to", FORMATS)
def test_a_full_disk_is_named(encoder, tmp_path, to):
    with (
        pytest.raises(OSError, match="Cannot write .*; free some disk space"),
        full_disk(max_size=5000),  # half of the weights
    ):
        convert_checkpoint(
            encoder, tmp_path / "theirs", to, settings=_SETTINGS.get(to)
        )
    assert not list(tmp_path.iterdir())
