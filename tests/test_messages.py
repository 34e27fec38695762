"""Each message says what was given, what was expected and what to do."""

import re

import numpy as np
import pytest
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.io.paths import to_path

BUILDERS = [
    lambda config: keras_bert.models.build_classifier(config, num_labels=3),
    lambda config: keras_bert.models.build_token_classifier(
        config, num_labels=3
    ),
    keras_bert.models.build_embedder,
    keras_bert.models.build_encoder,
    keras_bert.models.build_pretraining_model,
    keras_bert.models.build_span_labeler,
]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_network_of_a_folder(build):
    with pytest.raises(
        keras_bert.InputError,
        match="^The config is 'pretrained', but must be a BertConfig; for one "
        r"of a file, write BertConfig.from_json\(path\).$",
    ):
        build("pretrained")


def test_a_config_that_is_a_path(vocab_file):
    with pytest.raises(keras_bert.InputError, match="must be a BertConfig; fo"):
        load_config_and_tokenizer(
            None, bert_config="bert_config.json", vocab_file=vocab_file
        )


def test_labels_instead_of_their_number(config):
    with pytest.raises(
        keras_bert.InputError,
        match=r"^num_labels is \['a', 'b'\], but .* give the number of labels",
    ):
        keras_bert.models.build_classifier(config, num_labels=["a", "b"])


@pytest.mark.parametrize("call", ["__call__", "predict"])
def test_more_tokens_than_positions(config, call):
    encoder = keras_bert.models.build_encoder(config)
    ids = np.ones([2, 17], "int32")
    features = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
    with pytest.raises(
        ValueError,
        match="A sequence of 17 tokens was given, but the network has 16 pos",
    ):
        getattr(encoder, call)(features)


def test_a_length_above_the_positions(config, tmp_path):
    write_checkpoint(tmp_path / "pretrained", config)
    for name, load in (
        ("max_seq_length", keras_bert.load_pretrained),
        ("max_seq_length", keras_bert.load_embedder),
    ):
        with pytest.raises(
            keras_bert.InputError,
            match=f"^{name} 17 is over the max_position_embeddings 16 of the "
            "network; give at most 16, or add positions with extend_positions.",
        ):
            load(tmp_path / "pretrained", **{name: 17})


@pytest.mark.parametrize("path", [None, 3, ["a"], b"a"])
def test_what_is_not_a_path(path):
    with pytest.raises(
        keras_bert.InputError,
        match=f"^A path is {re.escape(repr(path))}, but must be a string or a ",
    ):
        to_path(path)


@pytest.mark.parametrize("name", ["file", "file/out"])
def test_an_output_folder_that_is_a_file(config, vocab_file, tmp_path, name):
    (tmp_path / "file").write_text("a text")
    with pytest.raises(
        keras_bert.InputError,
        match=f"^The output_dir is {re.escape(str(tmp_path / name))}, but "
        f"{re.escape(str(tmp_path / 'file'))} is a file; give a folder.$",
    ):
        keras_bert.finetune(
            "glue/sst2",
            tmp_path,
            tmp_path / name,
            bert_config=config,
            vocab_file=vocab_file,
            settings={"max_seq_length": 16},
        )
    assert (tmp_path / "file").read_text() == "a text"


def test_a_folder_instead_of_its_config(tmp_path):
    with pytest.raises(
        keras_bert.InputError,
        match=f"^{re.escape(str(tmp_path))} is a folder; give the config in "
        "it, such as .*bert_config.json",
    ):
        keras_bert.BertConfig.from_json(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"freeze_embeddings": "false"}, "'false', but must be True or False"),
        ({"do_lower_case": 1}, "1, but must be True or False"),
        ({"hidden_layer_map": None}, "None, but must be a string"),
        ({"tpu": b"local"}, "b'local', but must be a string"),
        ({"train_batch_size": 8.0}, "8.0, but must be a whole number (int)"),
        ({"train_batch_size": True}, "True, but must be a whole number (int)"),
        ({"learning_rate": "5e-5"}, "'5e-5', but must be a number (float)"),
        ({"learning_rate": float("nan")}, "nan, but must be above 0"),
        ({"learning_rate": float("inf")}, "inf, but must be finite"),
    ],
)
def test_a_setting_of_another_type(values, message):
    (name,) = values
    with pytest.raises(
        keras_bert.InputError, match=re.escape(f"{name} is {message}.")
    ):
        keras_bert.FinetuningConfig(**values)
