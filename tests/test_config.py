import dataclasses
import json

import pytest

from keras_bert.config import BertConfig


def test_to_json_writes_back_the_released_keys(config, tmp_path):
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


def test_what_differs_from_the_released_models_is_written_too(config):
    changed = dataclasses.replace(
        config, directionality="left_to_right", layer_norm_eps=1e-6
    )
    assert BertConfig.from_dict(json.loads(changed.to_json())) == changed


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("gelu", "gelu_erf"), ("gelu_new", "gelu"), ("relu", "relu")],
)
def test_hugging_face_names_its_gelu_otherwise(theirs, ours):
    config = BertConfig.from_dict(
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": theirs,
            "layer_norm_eps": 1e-6,
            "position_embedding_type": "absolute",
            "vocab_size": 31,
        }
    )
    assert config == BertConfig(
        vocab_size=31, hidden_act=ours, layer_norm_eps=1e-6
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vocab_size": 31, "hiden_size": 12}, r"Unknown keys \['hiden_size'"),
        ({}, "no vocab_size"),
        (
            {"vocab_size": 31, "hidden_size": 10, "num_attention_heads": 3},
            "hidden_size 10 is not a multiple of num_attention_heads 3",
        ),
        ({"vocab_size": 31, "hidden_act": "gelo"}, "hidden_act 'gelo'"),
        ({"vocab_size": "31"}, "positive whole number, but is '31'"),
        ({"vocab_size": 31, "hidden_dropout_prob": 1}, "below 1"),
        ({"vocab_size": 31, "hidden_dropout_prob": None}, "but is None"),
        ({"vocab_size": 31, "model_type": "t5"}, "model_type is 't5'"),
        (
            {
                "vocab_size": 31,
                "model_type": "bert",
                "position_embedding_type": "relative_key",
            },
            "'relative_key' is not BERT's",
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
    with pytest.raises(ValueError, match="broken.json is not valid JSON"):
        BertConfig.from_json(broken)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="bert_base_cased, .*bert_tiny"):
        BertConfig.from_name("bert_huge")
