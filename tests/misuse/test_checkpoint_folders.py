"""Folders of checkpoints as other tools, other releases and accidents leave.

What a file says is used, or changes nothing, or is refused.
"""

import functools
import json
import shutil

import keras
import numpy as np
from conftest import WORDS, randomize, write_vocab
from misuse_tables import Says, cases, check
from other_names import google, hugging_face, write_tf1
from safetensors.numpy import save_file

import keras_bert
from keras_bert.models import build_encoder, build_pretraining_model

_WORDS = "bert.embeddings.word_embeddings.weight"
_BIAS = "cls.predictions.bias"
_POOLER = "bert.pooler.dense.bias"


@functools.cache
def _weights(config):
    model = build_pretraining_model(config)
    randomize(model)
    return {w.path: w.numpy() for w in model.weights}


def _folder(x, arrays, config=None, folder=None):
    """Writes what transformers saves."""
    folder = folder or x.folder
    folder.mkdir(exist_ok=True)
    save_file(arrays, folder / "model.safetensors")
    values = json.loads(x.config.to_json()) | {"hidden_act": "gelu_new"}
    values |= {"model_type": "bert"} | (config or {})
    (folder / "config.json").write_text(json.dumps(values))
    write_vocab(folder)
    return folder


def _loads(x, checkpoint, build=build_encoder):
    model = build(x.config)
    keras_bert.load_checkpoint(model, checkpoint)
    expected = _weights(x.config)
    return all(
        np.array_equal(w.numpy(), expected[w.path]) for w in model.weights
    )


def _hub(change=dict, build=build_encoder, **config):
    def load(x):
        arrays = change(hugging_face(google(_weights(x.config))))
        return _loads(x, _folder(x, arrays, config), build)

    return load


def _prefixed(prefix, bert="bert."):
    def change(arrays):
        return {
            prefix + (name if bert else name.removeprefix("bert.")): array
            for name, array in arrays.items()
        }

    return f"names that begin with {prefix}{bert}", _hub(change), True


def _with(**changes):
    """Replaces tensors; a change is a function of the old one."""
    names = {"words": _WORDS, "bias": _BIAS, "pooler": _POOLER}

    def change(arrays):
        return arrays | {
            names[name]: change(arrays[names[name]])
            for name, change in changes.items()
        }

    return change


def _copied(new, old, add=0):
    return lambda arrays: arrays | {new: arrays[old] + np.float32(add)}


def _one(number):
    def change(array):
        array = array.copy()
        array[-1] = number
        return array

    return change


def _float8(x):
    head = {"w": {"dtype": "F8_E4M3", "shape": [2, 2], "data_offsets": [0, 4]}}
    head = json.dumps(head).encode()
    size = len(head).to_bytes(8, "little")
    file = x.file("model.safetensors", size + head + b"1234")
    keras_bert.load_checkpoint(build_encoder(x.config), file)


class _Two(keras.Model):
    def __init__(self, config):
        super().__init__()
        self.left, self.right = build_encoder(config), build_encoder(config)


@cases(
    *(_prefixed(prefix, bert)
      for prefix in ("module.", "_orig_mod.", "model.", "module._orig_mod.")
      for bert in ("bert.", "")),
    _prefixed("0.auto_model.", ""),
    ("a prefix of some names", _hub(
        lambda a: {f"module.{n}" if n == _POOLER else n: x
                   for n, x in a.items()}),
     Says("module.bert.pooler.dense.bias, which does not belong to BERT")),
    ("a buffer of segments", _hub(lambda a: a | {
        "bert.embeddings.token_type_ids": np.zeros((1, 16), "int64")}), True),
    ("one weight under two names", _hub(_copied("pooler.dense.bias", _POOLER)),
     True),
    ("two weights under two names of one",
     _hub(_copied("pooler.dense.bias", _POOLER, 1)),
     Says("pooler.dense.bias, which belong to the same weight, but have d")),
    ("old and new names of a norm", _hub(_copied(
        "bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight",
        1)), Says("which belong to the same weight, but have different")),
    ("the decoder's bias alone", _hub(
        lambda a: {"cls.predictions.decoder.bias" if n == _BIAS else n: x
                   for n, x in a.items()}, build_pretraining_model), True),
    ("another decoder's bias", _hub(
        _copied("cls.predictions.decoder.bias", _BIAS, 1),
        build_pretraining_model), Says("has a decoder that differs from")),
    ("an encoder below another decoder", _hub(
        _copied("cls.predictions.decoder.bias", _BIAS, 1)), True),
    ("NaN", _hub(_with(pooler=_one(np.nan))),
     Says("bert.pooler.dense.bias in")),
    ("NaN in the last row", _hub(_with(words=_one(np.nan))),
     Says("model.safetensors holds numbers that are not finite")),
    ("infinity", _hub(_with(words=_one(-np.inf))), Says("are not finite")),
    ("both infinities", _hub(_with(
        pooler=lambda a: np.array([np.inf, -np.inf] * 6, "f"))),
     Says("are not finite")),
    ("NaN in Google's file", lambda x: _loads(x, write_tf1(
        x.folder / "bert_model.ckpt", google(_weights(x.config))
        | {"bert/pooler/dense/bias": np.full(12, np.nan, "f")})
        or x.folder), Says("are not finite")),
    ("8 bits of another package", _float8, Says("stores w as F8_E4M3, be")),
    ("two weights with one path", lambda x: keras_bert.load_checkpoint(
        _Two(x.config), x.checkpoint),
     Says("2 weights of the network have the path embeddings/word_embeddings")),
)  # fmt: skip
def test_names_and_numbers(given, call, expected):
    check(call, given, expected)


def test_numbers_may_be_large(given):
    """Their sum is not finite."""
    arrays = hugging_face(google(_weights(given.config)))
    arrays[_POOLER] = np.full(12, 3e38, "f")
    folder = _folder(given, arrays)
    keras_bert.load_checkpoint(build_encoder(given.config), folder)


@cases(
    *((f"{name}: {value}", _hub(**{name: value}),
       Says(f"has {name}: {value!r}, which BERT does not have"))
      for name, value in (
          ("embedding_size", 6), ("is_encoder_decoder", True),
          ("quantization_config", {"bits": 8}), ("rope_theta", 10000.0),
          ("feed_forward_type", "geglu"), ("num_hidden_groups", 1),
          ("hidden_activation", "silu"), ("layers_to_transform", [1]))),
    *((f"{name}: {value}", _hub(**{name: value}), Says("BERT is an encoder"))
      for name, value in (
          ("is_decoder", True), ("add_cross_attention", True),
          ("pruned_heads", {"0": [1]}))),
    ("two activations", _hub(hidden_act=["gelu", "relu"]),
     Says("hidden_act is ['gelu', 'relu'] and")),
    ("relative positions", _hub(position_embedding_type="relative_key_query"),
     Says("'relative_key_query'")),
    ("another family", _hub(model_type="albert"), Says("'albert'")),
    ("what changes nothing", _hub(
        classifier_dropout=0.3, _name_or_path="a/b", torch_dtype="float16",
        chunk_size_feed_forward=64, gradient_checkpointing=True, use_cache=True,
        pad_token_id=7, eos_token_ids=[3], output_past=True, language="en",
        pooler_fc_size=768, directionality="bidi", num_beams=4,
        task_specific_params={"a": 1}, position_embedding_type="absolute",
        transformers_version="2.1.1", tie_word_embeddings=False,
        label2id={"a": 0}, repetition_penalty=1.5, summary_type="first"), True),
    ("what is turned off", _hub(
        embedding_size=None, pruned_heads={}, is_decoder=False,
        position_embedding_type=None, quantization_config=None), True),
)  # fmt: skip
def test_values_of_config_json(given, call, expected):
    check(call, given, expected)


def _tensorflow(name):
    def load(x):
        write_tf1(x.folder / "bert_model.ckpt", google(_weights(x.config)))
        return _loads(x, x.folder / name)

    return f"the file {name}", load, True


def _index(x):
    arrays = hugging_face(google(_weights(x.config)))
    save_file(arrays, x.folder / "part.safetensors")
    values = {"weight_map": dict.fromkeys(arrays, "part.safetensors")}
    text = json.dumps(values)
    return _loads(x, x.file("model.safetensors.index.json", text))


def _module(name, of_class):
    def load(x):
        arrays = hugging_face(google(_weights(x.config)))
        arrays = {n: a for n, a in arrays.items() if not n.startswith("cls.")}
        _folder(x, arrays, folder=x.folder / name)
        (x.folder / "1_Pooling").mkdir()
        (x.folder / "1_Pooling" / "config.json").write_text("{}")
        modules = [
            {"path": path, "type": f"sentence_transformers.models.{y}"}
            for path, y in ((name, of_class), ("1_Pooling", "Pooling"))
        ]
        x.file("modules.json", json.dumps(modules))
        return keras_bert.load_embedder(x.folder).embed(["fox"]).shape

    return f"the network in {name}", load, (1, 12)


def _length(load, positions=None, **settings):
    def call(x):
        x.file("tokenizer_config.json", json.dumps(settings))
        arrays = hugging_face(google(_weights(x.config)))
        return load(_folder(x, arrays)).preprocessor.max_seq_length

    return call


def _no_mask(x):
    arrays = hugging_face(google(_weights(x.config)))
    folder = _folder(x, arrays)
    text = (folder / "vocab.txt").read_text()
    (folder / "vocab.txt").write_text(text.replace(f"{WORDS[-1]}\n", ""))
    return keras_bert.load_pretrained(folder).tokenizer.vocab_size


@cases(
    *map(_tensorflow, ("bert_model.ckpt", "bert_model.ckpt.index",
                       "bert_model.ckpt.data-00000-of-00001")),
    ("the index of shards", _index, True),
    _module("0_BERT", "BERT"), _module("0_Transformer", "Transformer"),
    _module("encoder", "Transformer"),
    ("fewer positions than the usual length", _length(keras_bert.load_embedder),
     16),
    ("the same of an encoder", _length(keras_bert.load_pretrained), 16),
    ("a short model_max_length", _length(
        keras_bert.load_embedder, model_max_length=9), 9),
    ("the same of an encoder that is short", _length(
        keras_bert.load_pretrained, model_max_length=9), 9),
    ("model_max_length without a limit", _length(
        keras_bert.load_embedder, model_max_length=1e30), 16),
    ("model_max_length in words", _length(
        keras_bert.load_embedder, model_max_length="long"),
     Says("is 'long', but must be a number")),
    ("a row that no piece uses", _no_mask, 30),
    ("no checkpoint", lambda x: keras_bert.load_embedder(None),
     Says("There is no checkpoint; give a path")),
)  # fmt: skip
def test_layouts(given, call, expected):
    check(call, given, expected)


def _saved(name, change, load=keras_bert.load_finetuned):
    """Changes a file of a model that this package saved."""

    def call(x):
        folder = x.folder / "model"
        shutil.copytree(x.saved("named"), folder)
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        return load(folder).predict(["the fox"])[0].keys() >= {"label"}

    return call


def _unchecked(name, change):
    def load(folder):
        (folder / "checksums.json").unlink()
        return keras_bert.load_finetuned(folder)

    return _saved(name, change, load)


def _values(change):
    def changed(data):
        values = json.loads(data)
        return json.dumps(change(values) or values).encode()

    return changed


def _damaged(name, what, change, says="copy it again"):
    return f"{name} is {what}", _unchecked(name, change), Says(says)


@cases(
    *((f"{name} is another one", _saved(name, change),
       Says(f"cannot be used: {name} is damaged; copy the folder again"))
      for name, change in (
          ("model.safetensors", lambda d: d[:-1] + bytes([d[-1] ^ 1])),
          ("vocab.txt", lambda d: d.replace(b"fox\njump\n", b"jump\nfox\n")),
          ("bert_config.json",
           _values(lambda v: v.update(num_attention_heads=4))),
          ("task.json", _values(lambda v: v["labels"].reverse())),
          ("tokenizer_config.json",
           _values(lambda v: v.update(do_lower_case=False))))),
    ("checksums.json is cut", _saved("checksums.json", lambda d: d[:9]),
     Says("checksums.json is damaged")),
    ("checksums of an earlier release", _saved("checksums.json", _values(
        lambda v: {"model.safetensors": v["model.safetensors"]})), True),
    ("no checksums", _unchecked("vocab.txt", lambda d: d), True),
    ("a change on purpose", _unchecked("task.json", _values(
        lambda v: v.update(labels=["good", "bad"]))), True),
    *(_damaged(name, what, change)
      for name in ("task.json", "training.json")
      for what, change in (
          ("cut", lambda d: d[:-3]), ("empty", lambda d: b""),
          ("a list", lambda d: b"[]"), ("a number", lambda d: b"3"),
          ("bytes", lambda d: b'{"kind": "\xff"}'))),
    _damaged("task.json", "an empty object", lambda d: b"{}",
             "has kind None, but must have a kind"),
    *(_damaged("task.json", f"one with {name} {value!r}",
               _values(lambda v, n=name, x=value: v.update({n: x})),
               f"has {name} {value!r}, but must have a kind")
      for name, value in (
          ("kind", 3), ("kind", ["classification"]), ("settings", []),
          ("labels", "no yes"), ("metrics", None), ("text_fields", {}),
          ("threshold", 0.7))),
    _damaged("task.json", "one of an unknown kind",
             _values(lambda v: v.update(kind="tagging")), "'tagging'"),
    _damaged("task.json", "one with a setting of another type",
             _values(lambda v: v["settings"].update(max_seq_length="8")),
             "max_seq_length is '8'"),
    _damaged("training.json", "one with metrics in a list",
             _values(lambda v: v.update(metrics=[0.7])), "has metrics [0.7]"),
    ("training.json is an empty object",
     _unchecked("training.json", lambda d: b"{}"), True),
)  # fmt: skip
def test_files_of_a_saved_model(given, call, expected):
    check(call, given, expected)
