import dataclasses
import json

import numpy as np
import pytest

import keras_bert
from keras_bert.config import BertConfig

HUGGINGFACE = {"vocab_size": 31, "model_type": "bert"}
MODERN = {"vocab_size": 31, "model_type": "modernbert"}


def test_to_json_writes_the_released_keys(config, tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(config.to_json())
    assert BertConfig.from_json(path) == config
    assert sorted(json.loads(path.read_text())) == [
        "attention_probs_dropout_prob",
        "hidden_act",
        "hidden_dropout_prob",
        "hidden_size",
        "initializer_range",
        "intermediate_size",
        "max_position_embeddings",
        "num_attention_heads",
        "num_hidden_layers",
        "type_vocab_size",
        "vocab_size",
    ]


def test_other_keys_are_written_unless_they_have_the_default(config):
    changed = dataclasses.replace(
        config, directionality="left_to_right", layer_norm_eps=1e-6
    )
    assert BertConfig.from_dict(json.loads(changed.to_json())) == changed


@pytest.mark.parametrize(
    ("hugging_face", "expected"),
    [
        ("gelu", "gelu_erf"),
        ("gelu_python", "gelu_erf"),
        ("gelu_new", "gelu"),
        ("relu", "relu"),
        ("swish", "silu"),
    ],
)
def test_names_of_activations_in_hugging_face_configs(hugging_face, expected):
    config = BertConfig.from_dict(
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": hugging_face,
            "layer_norm_eps": 1e-6,
            "position_embedding_type": "absolute",
            "vocab_size": 31,
        }
    )
    assert config == BertConfig(
        vocab_size=31, hidden_act=expected, layer_norm_eps=1e-6
    )


@pytest.mark.parametrize(
    ("name", "hidden_act"),
    [("config.json", "gelu_erf"), ("bert_config.json", "gelu")],
)
def test_the_file_name_decides_if_no_key_does(tmp_path, name, hidden_act):
    values = {"vocab_size": 31, "hidden_act": "gelu"}
    if name == "config.json":  # of bert-base-uncased (2019), in part
        values |= {"output_past": True, "torchscript": False}
    (tmp_path / name).write_text(json.dumps(values))
    assert BertConfig.from_json(tmp_path / name).hidden_act == hidden_act


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vocab_size": 31, "hiden_size": 12}, r"Unknown keys \['hiden_size'"),
        ({}, "no vocab_size"),
        (
            {"vocab_size": 31, "hidden_size": 10, "num_attention_heads": 3},
            "hidden_size 10 is not a multiple of num_attention_heads 3",
        ),
        ({"vocab_size": 31, "hidden_act": "gelo"}, "hidden_act is 'gelo'"),
        (
            {"vocab_size": 31, "model_type": "bert", "hidden_act": "mish"},
            "hidden_act is 'mish' .* gelu_new",
        ),
        ({"vocab_size": "31"}, "vocab_size is '31', but must be a whole"),
        ({"vocab_size": 31, "hidden_dropout_prob": 1}, "below 1"),
        ({"vocab_size": 31, "hidden_dropout_prob": None}, "b is None"),
        ({"vocab_size": 31, "model_type": "t5"}, "of the family 't5'"),
        (
            {**HUGGINGFACE, "position_embedding_type": "relative_key"},
            "position_embedding_type is 'relative_key', .* only absolute pos",
        ),
        (
            MODERN | {"classifier_activation": "mish"},
            "classifier_activation is 'mish', but must be one of gelu",
        ),
        ({**HUGGINGFACE, "is_decoder": True}, "is_decoder is True, but"),
        (
            {**HUGGINGFACE, "add_cross_attention": True},
            "add_cross_attention is True, but BERT is an encoder",
        ),
        (
            {**HUGGINGFACE, "pruned_heads": {"1": [0, 2]}},
            "pruned_heads is {'1': .*, but",
        ),
    ],
)
def test_a_wrong_config_is_refused_in_one_sentence(values, message):
    with pytest.raises(ValueError, match=message):
        BertConfig.from_dict(values)


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.json"):
        BertConfig.from_json(tmp_path / "absent.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(ValueError, match="broken.json is not JSON"):
        BertConfig.from_json(broken)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="bert_base_cased, .*bert_tiny"):
        BertConfig.from_name("bert_huge")


@pytest.mark.parametrize(
    ("num_pieces", "num_rows", "fits"),
    [
        (31, 31, True),
        (31, 32, True),
        (30522, 30528, True),
        (30522, 30592, True),
        (30522, 30720, True),
        (30522, 30523, False),
        (30522, 30521, False),
        (28996, 30522, False),  # the cased vocabulary, the uncased network
        (28996, 30528, False),
        (30522, 119547, False),
        (2, 2048, False),
    ],
)
def test_a_network_may_have_rows_that_fill_up(num_pieces, num_rows, fits):
    config = BertConfig(vocab_size=num_rows)
    if fits:
        config.check_vocab_size(num_pieces, "vocab.txt")
        return
    message = f"has {num_pieces} word pieces, but .* a vocab_size of {num_rows}"
    with pytest.raises(ValueError, match=message):
        config.check_vocab_size(num_pieces, "vocab.txt")


def test_embeddings_as_wide_as_the_network_are_not_projected(config):
    same = dataclasses.replace(config, embedding_size=config.hidden_size)
    assert same == config


def test_a_number_of_numpy_is_a_number():
    config = keras_bert.FinetuningConfig(train_batch_size=np.int64(2))
    assert type(config.train_batch_size) is int
    with pytest.raises(keras_bert.InputError, match="train_batch_size is 0"):
        keras_bert.FinetuningConfig(train_batch_size=np.int64(0))
