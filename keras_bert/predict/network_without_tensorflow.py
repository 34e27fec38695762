"""The folder of a network -> functions that need no TensorFlow.

The package `tokenizers` turns texts into ids, and NumPy turns the network's
outputs into answers. This works for the kinds in `kinds/answers.py`, but not
for models that read texts in windows.
"""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.errors import InputError
from keras_bert.kinds.answers import ANSWERS, NEVER
from keras_bert.kinds.call_sizes import fits_a_call
from keras_bert.predict.function import Columns, Function, Spec
from keras_bert.predict.network import Network, load_network
from keras_bert.predict.versions import read_description
from keras_bert.text.without_tensorflow import (
    ListPreprocessor,
    ListTokenizer,
    pad_rows,
)

_TOKENS_PER_CALL = 2048  # including padding


def load(
    version: Path,
    signature: str | None = None,
    tokenizer: ListTokenizer | None = None,
) -> dict[str, Function]:
    """Returns a network's functions, as `load_functions` describes."""
    answer = _answerer(version, tokenizer)
    functions = {}
    for name, described in read_description(version)["signatures"].items():
        if signature not in (None, name):
            continue
        ranks = described["inputs"]
        call = functools.partial(answer, name, list(ranks))
        # A call shows which outputs the kind has. It also warms up the network.
        text = np.array(b"warm up", object)
        texts = {x: text.reshape((1,) * rank) for x, rank in ranks.items()}
        answers = call(texts)
        has_lists = 2 in ranks.values()  # a score for each ending
        inputs = {x: Spec(text.dtype, (None,) * y) for x, y in ranks.items()}
        outputs = {}
        for x, array in answers.items():
            sizes = [None if has_lists else n for n in array.shape[1:]]
            outputs[x] = Spec(array.dtype, (None, *sizes))
        functions[name] = Function.of_network(call, inputs, outputs)
    return functions


def _answerer(
    version: Path, tokenizer: ListTokenizer | None
) -> Callable[[str, list[str], Columns], dict[str, np.ndarray]]:
    """Returns a function that computes the outputs of any signature.

    The function takes the name of the signature, the names of its inputs in
    order, and the inputs, keyed by name.
    """
    assets = version / "assets"
    task = json.loads((assets / "task.json").read_text("utf-8"))
    kind, settings = task["kind"], task["settings"]
    in_windows = settings.get("window_pooling", "none") != "none"
    if kind not in ANSWERS or in_windows:
        windows = " that reads texts in windows" if in_windows else ""
        raise InputError(
            f"{version} has a network of the kind {kind}{windows}, which "
            "needs TensorFlow; run pip install tensorflow tensorflow-text."
        )
    labels = np.array([label.encode() for label in task["labels"]], object)
    tokenizer = tokenizer or ListTokenizer.from_folder(assets)
    preprocessor = ListPreprocessor(tokenizer, settings["max_seq_length"])
    network = load_network(version)

    def answer(
        signature: str, inputs: list[str], columns: Columns
    ) -> dict[str, np.ndarray]:
        decode = np.frompyfunc(lambda x: x.decode("utf-8", "ignore"), 1, 1)
        texts = [decode(columns[name]) for name in inputs]
        if signature == "similarity":
            texts = [np.stack(texts, axis=1)]  # [B, 2]
        shape = texts[-1].shape
        # In multiple choice, the text is read before each of its endings.
        texts = [
            np.repeat(x, shape[-1]) if x.shape != shape else x.ravel()
            for x in texts
        ]
        texts[0] = _prompt(settings, signature) + texts[0]
        packed, truncated = preprocessor.pack(*(x.tolist() for x in texts))
        rows: np.ndarray = np.empty(len(packed), object)
        rows[:] = packed
        rows = rows.reshape(len(columns[inputs[0]]), -1)  # [B, C]
        sizes = np.vectorize(len, otypes=["int32"])(rows)
        outputs = _in_pieces(network, rows, sizes.max(axis=1))
        if columns[inputs[-1]].ndim == 2:
            # Empty endings at the end of a row are padding.
            is_empty = columns[inputs[-1]][:, ::-1] == b""
            is_padding = np.logical_and.accumulate(is_empty, 1)[:, ::-1]
            outputs["logits"] = np.where(is_padding, NEVER, outputs["logits"])
            sizes[is_padding] = 0
        read = {
            "truncated": truncated.reshape(rows.shape).any(axis=1),
            "num_tokens": sizes.sum(axis=1, dtype="int32"),
        }
        return ANSWERS[kind](outputs, labels, settings) | read

    return answer


def _prompt(settings: Mapping[str, Any], signature: str) -> str:
    name = signature.removeprefix("embed_")
    if name == signature:
        name = settings.get("default_prompt_name", "")
    return json.loads(settings.get("prompts") or "{}").get(name, "")


def _in_pieces(
    network: Network, rows: np.ndarray, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns the outputs [B, ...] for packed texts [B, C].

    The network is called several times, to limit the tokens per call. `lengths`
    has the length of the longest text in each row, [B].
    """
    order = np.argsort(-lengths, kind="stable")
    sizes = lengths[order] * rows.shape[1]
    outputs, start = [], 0
    while start < len(order):
        rest = sizes[start:]
        padded = rest[0] * np.arange(1, len(rest) + 1)
        fit = fits_a_call(padded, np.cumsum(rest), _TOKENS_PER_CALL)
        end = start + 1 + np.flatnonzero(fit).max(initial=0)
        outputs.append(network.run(_features(network, rows[order[start:end]])))
        start = end
    back = np.argsort(order)
    return {
        name: np.concatenate([x[name] for x in outputs])[back]
        for name in network.output
    }


def _features(network: Network, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the network's inputs for packed texts [B, C], one text a row."""
    features = pad_rows(rows.ravel().tolist())
    if network.input["input_ids"].rank == 2:
        return features
    features = {x: y.reshape(*rows.shape, -1) for x, y in features.items()}
    ids = features["input_ids"]
    positions = np.arange(ids.shape[2], dtype="int32")
    return features | {
        "position_ids": positions + np.zeros_like(ids),
        "cls_positions": np.zeros_like(ids[:, :, :1]),
    }
