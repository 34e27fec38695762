import dataclasses
import functools
import json

import numpy as np
import pytest
import tensorflow as tf
from misuse_tables import Says, cases, check

import keras_bert
from keras_bert import BertConfig, models
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.io.paths import to_path


def _huggingface(**values):
    sizes = {"vocab_size": 31, "hidden_size": 12, "num_attention_heads": 3}
    return lambda x: BertConfig.from_json(
        x.file("config.json", json.dumps(sizes | values))
    )


@cases(
    ("ALBERT", _huggingface(model_type="albert"), Says("'albert'")),
    ("DeBERTa", _huggingface(model_type="deberta-v2"), Says("'deberta-v2'")),
    ("NeoBERT", _huggingface(model_type="neobert"), Says("'neobert'")),
    ("EuroBERT", _huggingface(model_type="eurobert"), Says("'eurobert'")),
    ("relative positions",
     _huggingface(position_embedding_type="relative_key"),
     Says("'relative_key'")),
    ("a decoder", _huggingface(model_type="bert", is_decoder=True),
     Says("BERT is an encoder")),
    ("another activation", _huggingface(model_type="bert", hidden_act="mish"),
     Says("hidden_act is 'mish'")),
    ("ALBERT of Google", lambda x: BertConfig.from_dict(
        {"vocab_size": 31, "embedding_size": 6, "num_hidden_groups": 1}),
     Says("Unknown keys ['num_hidden_groups']")),
    ("a list", lambda x: BertConfig.from_json(x.file("a.json", "[1]")),
     Says("is not an object")),
    ("a folder", lambda x: BertConfig.from_json(x.folder),
     Says("give a file such as bert_config.json")),
)  # fmt: skip
def test_config(given, call, expected):
    check(call, given, expected)


def _load_into(**sizes):
    def load(x):
        config = dataclasses.replace(x.config, **sizes)
        encoder = keras_bert.models.build_encoder(config)
        keras_bert.load_checkpoint(encoder, x.checkpoint)

    return load


_TOO_LONG = Says(
    "max_seq_length 17 is over the max_position_embeddings 16 of the network; "
    "give at most 16, or add positions with extend_positions."
)
_ANOTHER = Says("does the model config belong to this checkpoint?")


@cases(
    ("the checkpoint first", lambda x: keras_bert.load_checkpoint(
        x.checkpoint, keras_bert.models.build_encoder(x.config)), Says("path")),
    ("a wider network", _load_into(hidden_size=24), _ANOTHER),
    ("a deeper network", _load_into(num_hidden_layers=3), _ANOTHER),
    ("a flatter network", _load_into(num_hidden_layers=1), _ANOTHER),
    ("more positions", _load_into(max_position_embeddings=32), _ANOTHER),
    ("a pre-trained model as a fine-tuned one",
     lambda x: keras_bert.load_finetuned(x.checkpoint),
     Says("has no task.json")),
    ("no fine-tuned model", lambda x: keras_bert.load_finetuned(None),
     Says("give the output_dir of keras-bert finetune")),
    ("an empty path", lambda x: keras_bert.load_finetuned(""),
     Says("give the output_dir of keras-bert finetune")),
    *((f"{path!r} as a fine-tuned model", functools.partial(
        lambda x, path: keras_bert.load_finetuned(path), path=path),
       Says(f"A path is {path!r}, but must be")) for path in (3, b"model")),
    ("no such model", lambda x: keras_bert.load_finetuned("absent"),
     Says("No checkpoint at absent")),
    ("a classifier as an embedder",
     lambda x: keras_bert.load_embedder(x.saved("named")),
     Says("is a model of the kind classification")),
    ("more tokens than positions",
     lambda x: keras_bert.load_pretrained(x.checkpoint, max_seq_length=17),
     _TOO_LONG),
    ("more tokens than positions of an embedder",
     lambda x: keras_bert.load_embedder(x.checkpoint, max_seq_length=17),
     _TOO_LONG),
    ("a folder that exists",
     lambda x: x.model("named").save(x.checkpoint),
     Says("already exists; give a new folder")),
    ("an unknown format", lambda x: keras_bert.convert_checkpoint(
        x.checkpoint, x.folder / "a", to="pytorch"),
     Says("There is no format 'pytorch'")),
    ("a checkpoint onto itself", lambda x: keras_bert.convert_checkpoint(
        x.checkpoint, x.checkpoint, to="huggingface"),
     Says("already exists; give a new folder")),
    ("one label", lambda x: keras_bert.models.build_classifier(
        x.config, num_labels=1), Says("use build_regressor")),
)  # fmt: skip
def test_checkpoints(given, call, expected):
    check(call, given, expected)


_A_CONFIG = Says(
    "The config is 'pretrained', but must be a BertConfig; to read one from "
    "a file, write BertConfig.from_json(path)."
)


def _no_path(path):
    says = Says(f"A path is {path!r}, but must be a string or a pathlib.Path")
    return f"{path!r} as a path", lambda x: to_path(path), says


@cases(
    *((build.__name__, functools.partial(
        lambda x, build, options: build("pretrained", **options),
        build=build, options=options), _A_CONFIG)
      for build, options in (
          (models.build_classifier, {"num_labels": 3}),
          (models.build_token_classifier, {"num_labels": 3}),
          (models.build_embedder, {}), (models.build_encoder, {}),
          (models.build_pretraining_model, {}),
          (models.build_span_labeler, {}))),
    ("a path as a config", lambda x: load_config_and_tokenizer(
        None, bert_config="pretrained", vocab_file=x.vocab_file), _A_CONFIG),
    ("labels instead of their number", lambda x: models.build_classifier(
        x.config, num_labels=["a", "b"]),
     Says("num_labels is ['a', 'b'], but")),
    *map(_no_path, (None, 3, ["a"], b"a")),
)  # fmt: skip
def test_builders_and_paths(given, call, expected):
    check(call, given, expected)


@pytest.mark.parametrize("call", ["__call__", "predict"])
def test_more_tokens_than_positions(config, call):
    encoder = models.build_encoder(config)
    ids = np.ones([2, 17], "int32")
    features = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
    with pytest.raises(
        ValueError,
        match="A sequence of 17 tokens was given, but the network has 16 pos",
    ):
        getattr(encoder, call)(features)


@pytest.mark.parametrize(
    ("name", "ids", "most"),
    [
        ("input_ids", [[2, -1]], 30),
        ("input_ids", [[31, 2]], 30),
        ("segment_ids", [[0, -1]], 1),
        ("segment_ids", [[0, 2]], 1),
    ],
)
def test_ids_that_the_network_does_not_have(config, name, ids, most):
    """Python would take -1 for the last row."""
    encoder = models.build_encoder(config)
    names = ("input_ids", "input_mask", "segment_ids")
    features = dict.fromkeys(names, np.ones([1, 2], "int32"))
    features[name] = np.array(ids, "int32")
    wrong = next(x for x in ids[0] if not 0 <= x <= most)
    message = f"{name} contains {wrong}, but must be from 0 to {most}; give"
    with pytest.raises(ValueError, match=message):
        encoder(features)
    with pytest.raises(tf.errors.InvalidArgumentError):
        encoder.predict(features, verbose=0)


_FEATURES = {
    "input_ids": np.array([[2, 5, 9, 3]], "int32"),
    "input_mask": np.array([[1, 1, 1, 0]], "int32"),
    "segment_ids": np.array([[0, 0, 1, 0]], "int32"),
}


def _same_with(**dtypes):
    def call(x):
        network = keras_bert.models.build_encoder(x.config)
        changed = {n: _FEATURES[n].astype(t) for n, t in dtypes.items()}
        outputs = (network(f) for f in (_FEATURES, _FEATURES | changed))
        first, second = (x["pooled_output"].numpy() for x in outputs)
        return (first == second).all()

    return call


@cases(
    ("ids as int64", _same_with(input_ids="int64"), True),
    ("ids as floats", _same_with(input_ids="float32"), True),
    ("a mask of booleans", _same_with(input_mask="bool"), True),
    ("a mask of floats", _same_with(input_mask="float32"), True),
    ("segments as int64", _same_with(segment_ids="int64"), True),
)  # fmt: skip
def test_network(given, call, expected):
    check(call, given, expected)


def _lines(x, *more):
    return "\n".join([*x.pieces, *more]) + "\n"


@cases(
    ("a piece twice", lambda x: x.vocab(_lines(x, "fox")),
     Says("has 'fox' on")),
    ("CRLF", lambda x: x.vocab(_lines(x).replace("\n", "\r\n")).vocab_size, 31),
    ("no [MASK]", lambda x: x.vocab(_lines(x).replace("[MASK]\n", "")),
     Says("has no [MASK]")),
    ("BPE", lambda x: x.vocab(json.dumps(
        {"model": {"type": "BPE", "vocab": {"a": 0}}}), "tokenizer.json"),
     Says("BPE")),
    ("a list of pieces",
     lambda x: list(keras_bert.BertTokenizer(x.pieces).vocab) == list(x.pieces),
     True),
    ("a folder", lambda x: keras_bert.BertTokenizer(x.checkpoint),
     Says("No vocabulary at")),
    ("false as a string",
     lambda x: keras_bert.BertTokenizer(x.vocab_file, "False"),
     Says("do_lower_case is 'False', but must be True or False")),
    ("a cased vocabulary", lambda x: keras_bert.load_tokenizer(
        vocab_file=x.file("v.txt", _lines(x, "The"))).do_lower_case, False),
    ("neither checkpoint nor vocabulary",
     lambda x: keras_bert.load_tokenizer(), Says("give a vocab_file")),
    ("bytes", lambda x: x.tokenizer([b"the fox"]).to_list(), [[5, 9]]),
    ("an array of objects",
     lambda x: x.tokenizer(np.array(["the fox"], object)).to_list(), [[5, 9]]),
    ("no text", lambda x: x.tokenizer(np.array([], str)).to_list(), []),
)  # fmt: skip
def test_vocabulary(given, call, expected):
    check(call, given, expected)


@cases(
    ("a vector instead of vectors",
     lambda x: keras_bert.vectors.search(np.ones(3), np.eye(3), top_k=1),
     Says("one vector was given; write")),
    ("NaN", lambda x: keras_bert.vectors.search(
        np.array([[np.nan, 1]]), np.eye(2), top_k=1),
     Says("must be finite numbers [N, D]")),
    ("vectors of another model",
     lambda x: keras_bert.vectors.search(np.eye(3), np.eye(2), top_k=1),
     Says("give vectors from the same model")),
    ("nothing to find", lambda x: keras_bert.vectors.search(
        np.eye(2), np.eye(2), top_k=0), Says("top_k is 0")),
    ("dot products that are too large", lambda x: keras_bert.vectors.search(
        np.full((1, 3), 1e25), np.eye(3) * 1e25, 1, similarity="dot"),
     Says("float32 maximum, 3.4e38; divide all vectors")),
    ("dot products of both signs", lambda x: keras_bert.vectors.search(
        np.full((1, 2), 1e25), [[1e25, -1e25], [1, 0]], 1, similarity="dot"),
     Says("float32 maximum, 3.4e38; divide all vectors")),
    ("vectors that are too long", lambda x: keras_bert.vectors.search(
        np.full((1, 3), 3e38), np.eye(3), 1),
     Says("float32 maximum, 3.4e38; divide all vectors")),
    ("no query to score", lambda x: keras_bert.vectors.score_run({}, {}),
     Says("There is no judged query")),
)  # fmt: skip
def test_search(given, call, expected):
    check(call, given, expected)
