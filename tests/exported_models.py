"""Exports a tiny model of each kind, and makes requests for it."""

import keras
import tensorflow as tf
from conftest import CONFIG, randomize, write_vocab
from kind_examples import make_kind
from small_checkpoint import write_checkpoint

from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import export_finetuned
from keras_bert.export.pretrained import (
    PretrainedExportConfig,
    export_pretrained,
)
from keras_bert.models.pretraining import build_pretraining_model

_LABELS = ("bad", "good", "größer")
_TAGS = ("O", "B-X", "I-X")
# The arguments of make_kind by the name of the kind, or of a variant of it.
MODELS = {
    "classification": {"labels": _LABELS},
    "classification cased": {"labels": _LABELS, "do_lower_case": False},
    "multilabel": {"labels": _LABELS},
    "regression": {"min_value": -0.5, "max_value": 3.0},
    "multiple_choice": {},
    "token_classification": {"labels": _TAGS},
    "span": {"doc_stride": 3, "max_query_length": 4},
    "embedding": {"dimensions": "7,12"},
    "next_sentence": {"labels": ("is_next", "random")},
    "reranker": {},
    "encoder": {},
}
# The first one is longer than what the models read at once.
TEXTS = [
    "The quick brown fox jumped over a lazy dog. " * 3,
    "ÉLAN, 狐 is the film!",
    "a [MASK] dog over a [MASK].",
    "",
    b"a film \xff that was \xe2\x82 not bad",
]
# Inputs of `serve_ids`. The second row is padded.
_IDS = {
    "input_ids": [[2, 5, 9, 3, 7, 8, 3], [2, 30, 12, 3, 6, 3, 0]],
    "input_mask": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]],
    "segment_ids": [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0]],
}
_TAKE_EXAMPLES = ("serve_examples", "classify", "regress")


def is_variant(name):
    return " " in name


def export_model(name, folder, *, portable=False):
    """Returns the folder of the SavedModel, `folder / "served" / "1"`."""
    keras.utils.set_random_seed(12345)
    if name == "encoder":
        return export_pretrained(
            write_checkpoint(
                folder / "checkpoint", CONFIG, build=build_pretraining_model
            ),
            folder / "served",
            PretrainedExportConfig(pooling="cls", max_seq_length=9),
            portable=portable,
        )
    vocab_file = write_vocab(folder)
    kind = make_kind(name.split()[0], vocab_file, CONFIG, **MODELS[name])
    model = kind.build_model(CONFIG)
    randomize(model)
    return export_finetuned(
        model,
        kind,
        folder / "served",
        bert_config=CONFIG,
        training={},
        config=ExportConfig(portable=portable),
    )


def make_requests(model_dir, texts=TEXTS):
    """Returns the inputs of each signature by name, as lists."""
    signatures = tf.saved_model.load(str(model_dir)).signatures
    specs = {
        name: list(function.structured_input_signature[1].values())
        for name, function in signatures.items()
    }
    fields = _columns(specs["serving_default"], texts)
    return {
        name: {specs[name][0].name: _examples(fields)}
        if name in _TAKE_EXAMPLES
        else _columns(specs[name], texts)
        for name in specs
    }


def _columns(specs, texts):
    """Returns values for tensors of strings or ids, by name."""
    columns = {}
    for i, spec in enumerate(specs):
        if spec.dtype == tf.string:
            values = [tf.compat.as_bytes(x) for x in texts[i:] + texts[:i]]
            if spec.shape.rank == 2:  # lists of words
                words = (x.split()[:5] for x in values)
                values = [x + [b""] * (5 - len(x)) for x in words]
        else:
            values = _IDS[spec.name]
            if spec.shape.rank == 3:  # two choices
                values = [[x, x[:1] + x[:0:-1]] for x in values]
        columns[spec.name] = values
    return columns


def _examples(columns):
    """Returns a serialized tf.Example for each row of columns of strings."""
    rows = zip(*columns.values(), strict=True)
    return [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    name: tf.train.Feature(
                        bytes_list=tf.train.BytesList(
                            value=value if isinstance(value, list) else [value]
                        )
                    )
                    for name, value in zip(columns, row, strict=True)
                }
            )
        ).SerializeToString(deterministic=True)
        for row in rows
    ]


def largest_difference(expected, found):
    """Compares answers: numbers may differ, the rest must be equal."""
    if isinstance(expected, float):
        return abs(expected - found)
    if isinstance(expected, (dict, list)):
        assert len(expected) == len(found)
        keys = expected if isinstance(expected, dict) else range(len(expected))
        differences = (largest_difference(expected[k], found[k]) for k in keys)
        return max(differences, default=0.0)
    assert expected == found
    return 0.0
