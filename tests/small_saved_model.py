"""A SavedModel with a signature for each thing that the server must do."""

import json
import math
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

DESCRIPTION = {
    "kind": "encoder",
    "max_seq_length": 40,
    "labels": [],
    "text_fields": ["text"],
    "signatures": {"serving_default": {"inputs": {"text": 1}, "by_label": []}},
    "sizes": [2],
    "prompts": {"query": "ask "},
}


def save_small_model(folder, version=1, signatures=None):
    """Writes a version of the model, with some of its signatures or all.

    The answers of the signature `version` tell the version.
    """
    module = tf.Module()
    module.version = tf.Variable(version, dtype=tf.int32)
    module.matrix = tf.Variable(tf.eye(300))
    functions = {
        name: tf.function(function, input_signature=inputs, autograph=False)
        for name, (function, inputs) in _signatures(module).items()
        if signatures is None or name in signatures
    }
    _save(module, functions, folder, DESCRIPTION)
    file = Path(folder, "saved_model.pb")
    saved_model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    definitions = saved_model.meta_graphs[0].signature_def
    for name in {"classify", "regress"} & set(functions):
        definitions[name].method_name = f"tensorflow/serving/{name}"
    file.write_bytes(saved_model.SerializeToString())


def save_small_reranker(folder, score_activation="linear"):
    """Writes a model whose scores are lengths of documents, and its words.

    It reads 20 bytes of a document, and 9 of a query.
    """

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "query"),
            tf.TensorSpec([None], tf.string, "document"),
        ]
    )
    def score(query, document):
        lengths = [tf.strings.length(text) for text in (query, document)]
        longest = tf.constant([[9], [20]])
        return {
            "score": tf.cast(lengths[1], tf.float32) / 10 - 1,
            "truncated": tf.reduce_any(tf.stack(lengths) > longest, axis=0),
        }

    description = {
        "kind": "reranker",
        "labels": [],
        "text_fields": ["query", "document"],
        "max_seq_length": 20,
        "score_activation": score_activation,
        "signatures": {},
        "prompts": {"query": "A ", "passage": "The "},
    }
    _save(tf.Module(), {"serving_default": score}, folder, description)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the fox".split()]
    assets = Path(folder, "assets")
    (assets / "vocab.txt").write_text("\n".join([*words, "##es", "a"]) + "\n")
    (assets / "tokenizer_config.json").write_text('{"do_lower_case": true}')


def _save(module, functions, folder, description):
    tf.saved_model.save(module, str(folder), functions)
    Path(folder, "assets").mkdir(exist_ok=True)
    Path(folder, "assets", "model.json").write_text(json.dumps(description))


def _signatures(module):
    def embed(text):
        size = tf.strings.length(text)
        x = tf.cast(size, tf.float32)
        return {
            "embedding": tf.stack([x, x / 3, 1 / (x + 1)], axis=1),
            "num_tokens": size,
        }

    def embed_query(text):
        whole = tf.strings.join(["ask ", text])
        return {**embed(whole), "truncated": tf.strings.length(text) > 20}

    def upper(text):
        return {"upper": tf.strings.upper(text, encoding="utf-8")}

    def pair(left, right):
        joined = tf.strings.join([left, right], "|")
        return {"joined": joined, "is_empty": joined == "|"}

    def version(text):
        return {"version": module.version + 0 * tf.strings.length(text)}

    def slow(text):
        """Takes about a second."""
        matrix = tf.while_loop(
            lambda i, x: i < 400,
            lambda i, x: (i + 1, x @ module.matrix),
            [0, tf.eye(300)],
        )[1]
        zero = tf.cast(matrix[0, 1], tf.int32)
        return {"version": module.version + zero * tf.strings.length(text)}

    def split(text):
        """As wide as the text with the most words."""
        words = tf.strings.split(text)
        starts = tf.ones_like(words, tf.int32)
        return {
            "words.text": words.to_tensor(""),
            "words.start": starts.to_tensor(0),
        }

    def tag(words):
        return {"tags": tf.strings.join(["B-", words])}

    def mean(text):
        """Has no rows."""
        return {"mean": tf.reduce_mean(tf.strings.length(text))}

    def parse(numbers):
        """Raises an error that any text but a number leads to."""
        return {"parsed": tf.strings.to_number(numbers)}

    def numbers(x, count, flag):
        special = tf.constant([0.1, 1 / 3, 2, 9e6, math.nan, -math.inf])
        return {
            "double": tf.cast(x, tf.float64) / 3,
            "special": special + 0 * x[:, :1],
            "count": count + 1,
            "flag": tf.logical_not(flag),
            "raw_bytes": tf.strings.as_string(count),
        }

    def classify(inputs):
        rows = tf.io.parse_example(
            inputs,
            {
                "x": tf.io.FixedLenFeature([], tf.float32),
                "name": tf.io.FixedLenFeature([], tf.string, ""),
            },
        )
        x = rows["x"][:, None]
        names = tf.stack([rows["name"], rows["name"] + "!"], axis=1)
        return {"classes": names, "scores": x * [1.0, 0.5]}

    def regress(inputs):
        rows = tf.io.parse_example(
            inputs, {"x": tf.io.FixedLenFeature([], tf.int64)}
        )
        return {"outputs": tf.cast(rows["x"], tf.float32) / 2}

    def strings(name, rank=1):
        return tf.TensorSpec([None] * rank, tf.string, name)

    return {
        "serving_default": (embed, [strings("text")]),
        "embed_query": (embed_query, [strings("text")]),
        "upper": (upper, [strings("text")]),
        "pair": (pair, [strings("left"), strings("right")]),
        "version": (version, [strings("text")]),
        "slow": (slow, [strings("text")]),
        "split": (split, [strings("text")]),
        "tag": (tag, [strings("words", 2)]),
        "mean": (mean, [strings("text")]),
        "parse": (parse, [strings("numbers")]),
        "numbers": (
            numbers,
            [
                tf.TensorSpec([None, 2], tf.float32, "x"),
                tf.TensorSpec([None], tf.int64, "count"),
                tf.TensorSpec([None], tf.bool, "flag"),
            ],
        ),
        "classify": (classify, [strings("inputs")]),
        "regress": (regress, [strings("inputs")]),
    }
