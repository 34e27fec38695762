"""Features of lines -> a file of Google's JSON, NumPy or TFRecords.

`.npz` holds the concatenated `input_ids` [T] of all lines; `row_splits`
[N + 1], the start of each line and the end of the last; and for each layer an
array such as `layer_-1`, which is [T, H], or [N, H] with a pooling. All of it
must fit into memory.

`.tfrecord` holds an Example for each line, with `linex_index`, `input_ids` and
the flattened layers `layer_-1` and so on.

A file with any other suffix has the format of google-research/bert,
extract_features.py: a JSON object a line, numbers with six decimals. With a
pooling, `layers` replaces `features`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import check_is_not_folder
from keras_bert.text.tokenizer import BertTokenizer


class LineFeatures(NamedTuple):
    """Ids [T], and for each layer's number [T, H], or [H] if pooled."""

    input_ids: np.ndarray
    layers: Mapping[int, np.ndarray]


# Writes all lines to a path and returns their number.
_Writer = Callable[[Path, Iterable[LineFeatures], BertTokenizer], int]


def get_writer(output_file: str | Path) -> _Writer:
    """Returns the writer for the suffix of a file.

    Raises IsADirectoryError if `output_file` is a folder.
    """
    check_is_not_folder(output_file)
    return _WRITERS.get(to_path(output_file).suffix, _write_jsonl)


def _write_jsonl(path, found, tokenizer):
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, line in enumerate(found, 1):
            # From float32, rounding would leave more than six decimals.
            layers = {
                number: np.round(x.astype("float64"), 6).tolist()
                for number, x in line.layers.items()
            }
            row = {"linex_index": count - 1}
            if isinstance(next(iter(layers.values()))[0], float):
                row["layers"] = _json_layers(layers)
            else:
                row["features"] = [
                    {
                        "token": token,
                        "layers": _json_layers(
                            {number: x[i] for number, x in layers.items()}
                        ),
                    }
                    for i, token in enumerate(tokenizer.tokens(line.input_ids))
                ]
            file.write(json.dumps(row) + "\n")
    return count


def _json_layers(layers):
    return [{"index": n, "values": values} for n, values in layers.items()]


def _write_tfrecords(path, found, tokenizer):
    count = 0
    with tf.io.TFRecordWriter(str(path)) as writer:
        for count, line in enumerate(found, 1):
            features = {
                "linex_index": _int64s([count - 1]),
                "input_ids": _int64s(line.input_ids),
            }
            for number, x in line.layers.items():
                values = tf.train.FloatList(value=x.reshape(-1))
                features[f"layer_{number}"] = tf.train.Feature(
                    float_list=values
                )
            example = tf.train.Example(
                features=tf.train.Features(feature=features)
            )
            writer.write(example.SerializeToString())
    return count


def _int64s(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _write_npz(path, found, tokenizer):
    lines = list(found)
    if not lines:
        raise InputError("The input file has no line to extract features from.")
    arrays = {
        "input_ids": np.concatenate([line.input_ids for line in lines]),
        "row_splits": np.cumsum([0] + [len(x.input_ids) for x in lines]),
    }
    for number, x in lines[0].layers.items():
        join = np.concatenate if x.ndim == 2 else np.stack
        arrays[f"layer_{number}"] = join([x.layers[number] for x in lines])
    with path.open("wb") as file:
        np.savez(file, **arrays)
    return len(lines)


_WRITERS = {".npz": _write_npz, ".tfrecord": _write_tfrecords}
