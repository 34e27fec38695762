"""Checkpoints and tokenizers that look like BERT's, and are not."""

import json

import numpy as np
import pytest
from conftest import SPECIAL_TOKENS, WORDS
from safetensors.numpy import save_file

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_tokenizer import (
    load_tokenizer,
    tokenizer_values,
)
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.text.tokenizer_settings import TokenizerSettings

VOCAB = {piece: i for i, piece in enumerate(SPECIAL_TOKENS + WORDS)}
NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": False,
    "strip_accents": None,
    "lowercase": False,
}
TOKENIZER = {
    "normalizer": NORMALIZER,
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "vocab": VOCAB},
}


@pytest.fixture
def checkpoint(tmp_path):
    save_file(
        {"embeddings.word_embeddings.weight": np.zeros((31, 2))},
        tmp_path / "model.safetensors",
    )
    return tmp_path


def _write(folder, name, values):
    (folder / name).write_text(json.dumps(values))


@pytest.mark.parametrize(
    "values",
    [
        {"model_type": "camembert", "architectures": ["BertModel"]},
        {"architectures": ["AlbertForMaskedLM"]},  # from before 2020
    ],
)
def test_weights_of_another_family_are_refused(checkpoint, values):
    """Their weights can have names and shapes of families that are known."""
    _write(checkpoint, "config.json", {"vocab_size": 31} | values)
    message = "of the family '.*', which is not supported; "
    with pytest.raises(InputError, match=message):
        BertConfig.from_json(checkpoint / "config.json")
    with pytest.raises(InputError, match=message):
        _ = Checkpoint.of(checkpoint).arrays


@pytest.mark.parametrize(
    "values",
    [
        {"model_type": "bert", "architectures": ["HF_ColBERT"]},
        {"architectures": ["BertForMaskedLM"]},
        {"architectures": ["TFBertModel"]},
        {"architectures": None},
        {},
    ],
)
def test_weights_of_bert(checkpoint, values):
    _write(checkpoint, "config.json", {"vocab_size": 31} | values)
    assert BertConfig.from_json(checkpoint / "config.json").vocab_size == 31
    assert len(Checkpoint.of(checkpoint).arrays) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "distilbert", "n_heads": 2, "num_attention_heads": 4},
         "n_heads 2 and num_attention_heads 4, which are the same setting"),
        ({"model_type": "roberta", "max_position_embeddings": "514"},
         "a value of the wrong type .unsupported operand"),
        ({"model_type": "gte", "rope_parameters": [10000]},
         "a value of the wrong type .'list' object has no attribute 'get'"),
        ({"architectures": "BertModel"}, "architectures 'BertModel', but must"),
        ({"architectures": 3}, "has the architectures 3, but must have a list"),
    ],
)  # fmt: skip
def test_wrong_values_of_a_config_are_named(checkpoint, values, message):
    _write(checkpoint, "config.json", {"vocab_size": 31} | values)
    for read in (
        lambda: BertConfig.from_json(checkpoint / "config.json"),
        lambda: Checkpoint.of(checkpoint).arrays,
    ):
        with pytest.raises(InputError, match=message):
            read()


def test_adapters_without_their_base_model(tmp_path):
    _write(tmp_path, "adapter_config.json", {"peft_type": "LORA"})
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="merge them with peft's mer"):
        Checkpoint.of(tmp_path)


def test_adapters_of_peft_are_refused(checkpoint):
    """transformers adds adapter_model.safetensors to the weights."""
    _write(checkpoint, "config.json", {"vocab_size": 31})
    _write(checkpoint, "adapter_config.json", {"peft_type": "LORA"})
    with pytest.raises(InputError, match="merge them with peft's merge_and"):
        _ = Checkpoint.of(checkpoint).arrays


def test_a_damaged_config_beside_the_weights_is_named(checkpoint):
    (checkpoint / "config.json").write_bytes(b'{"model_type": "b\xff')
    with pytest.raises(InputError, match="config.json is not JSON"):
        _ = Checkpoint.of(checkpoint).arrays


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("tokenizer_config", {"tokenizer_class": "BertJapaneseTokenizer"},
         "tokenizer_class: 'BertJapaneseTokenizer', which does not"),
        ("tokenizer_config", {"tokenizer_class": "XLMRobertaTokenizerFast"},
         "'XLMRobertaTokenizerFast', which does not match its vocabulary"),
        ("tokenizer_config", {"do_basic_tokenize": False},
         "do_basic_tokenize: False, which does not match"),
        ("config", {"tokenizer_class": "BertJapaneseTokenizer"},
         "config.json has tokenizer_class: 'BertJapaneseTokenizer'"),
        ("config", [1], "config.json is not an object; copy it"),
        ("tokenizer",
         TOKENIZER | {"model": {"type": "Unigram", "vocab": [["a", -1]]}},
         "tokenizer.json is not a tokenizer .KeyError.'unk_id'"),
        ("tokenizer", TOKENIZER | {"normalizer": None},
         "The normalizer of .* is None, but BERT's is BertNormalizer"),
        ("tokenizer", TOKENIZER | {"pre_tokenizer": {"type": "Metaspace"}},
         "The pre_tokenizer of .* is Metaspace, but BERT's is BertPreToken"),
        ("tokenizer", [1], "tokenizer.json is not a tokenizer"),
    ],
)  # fmt: skip
def test_the_tokenizer_of_another_family_is_refused(
    checkpoint, vocab_file, file, values, message
):
    """Its vocab.txt alone looks like one of BERT."""
    _write(checkpoint, f"{file}.json", values)
    with pytest.raises(InputError, match=message):
        load_tokenizer(checkpoint)


@pytest.mark.parametrize(
    "name",
    ["BertTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast", None],
)
def test_the_tokenizer_of_bert_under_other_names(checkpoint, name):
    config = {"do_lower_case": False, "tokenize_chinese_chars": False}
    _write(
        checkpoint, "tokenizer_config.json", config | {"tokenizer_class": name}
    )
    _write(checkpoint, "tokenizer.json", TOKENIZER)
    assert load_tokenizer(checkpoint).settings == TokenizerSettings(
        False,
        tokenize_chinese_chars=False,
        max_input_chars_per_word=100,
        second_segment=int(name not in ("PreTrainedTokenizerFast", None)),
        is_of_hub=True,
    )


def test_the_settings_in_tokenizer_json(checkpoint):
    _write(checkpoint, "tokenizer.json", TOKENIZER)
    told = tokenizer_values(checkpoint)
    assert not told["do_lower_case"] and not told["tokenize_chinese_chars"]
    # transformers makes a normalizer of this file, and of its own defaults.
    _write(checkpoint, "config.json", {"model_type": "bert"})
    _write(checkpoint, "tokenizer_config.json", {"strip_accents": False})
    told = tokenizer_values(checkpoint)
    assert told["do_lower_case"] and not told["strip_accents"]
    assert "tokenize_chinese_chars" not in told


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ({"model_type": "modernbert"}, "BertTokenizer"),
        ({"architectures": ["BertModel"]}, None),
    ],
)
def test_folders_whose_tokenizer_json_decides(checkpoint, model, name):
    """transformers 5 takes its generic class for them."""
    config = {"do_lower_case": True, "tokenizer_class": name}
    _write(checkpoint, "config.json", model)
    _write(checkpoint, "tokenizer_config.json", config)
    _write(checkpoint, "tokenizer.json", TOKENIZER)
    told = tokenizer_values(checkpoint)
    assert not told["do_lower_case"] and not told["second_segment"]


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ("▁the ▁fox ed", "is a SentencePiece vocabulary: many pieces begin"),
        ("Ġthe Ġfox ed", "is a BPE vocabulary: many pieces begin with 'Ġ'"),
    ],
)
def test_a_vocabulary_of_another_family_is_refused(tmp_path, pieces, message):
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*SPECIAL_TOKENS, *pieces.split()]))
    with pytest.raises(InputError, match=message):
        load_tokenizer(vocab_file=file)


def test_an_old_tokenizer_json_does_not_name_its_type(tmp_path):
    model = {"max_input_chars_per_word": 100, "vocab": VOCAB}
    _write(tmp_path, "tokenizer.json", TOKENIZER | {"model": model})
    tokenizer = load_tokenizer(vocab_file=tmp_path / "tokenizer.json")
    assert tokenizer.vocab == tuple(VOCAB)


def test_gaps_in_tokenizer_json_are_named(tmp_path):
    file = tmp_path / "tokenizer.json"
    vocab = VOCAB | {"more": 33}
    file.write_text(
        json.dumps({"model": {"type": "WordPiece", "vocab": vocab}})
    )
    with pytest.raises(
        InputError, match="the ids of the word pieces have gaps"
    ):
        load_tokenizer(vocab_file=file)
