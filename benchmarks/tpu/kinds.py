"""A name of a kind -> the kind, and a batch of texts that each fill a row."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.finetuning.batches import Batch, training_batches
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.signatures import Signature
from keras_bert.kinds.spec import build_kind
from keras_bert.text.tokenizer import BertTokenizer

_VOCAB = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film")
_WORDS = ["film"] * 600  # more than any row has tokens
_TEXT = " ".join(_WORDS)


class _Task(NamedTuple):
    """The text fields of a row, its label, and the names of all labels."""

    fields: dict[str, Any]
    label: Any = None
    labels: tuple[str, ...] = ()


_TASKS = {
    "classification": _Task({"text": _TEXT}, "good", ("bad", "good")),
    "embedding": _Task({"anchor": _TEXT, "positive": _TEXT, "negative": _TEXT}),
    "multilabel": _Task({"text": _TEXT}, ["bad"], ("bad", "good")),
    "multiple_choice": _Task({"context": _TEXT, "endings": [_TEXT] * 2}, "1"),
    "next_sentence": _Task(
        {"text": _TEXT, "next": _TEXT}, "random", ("next", "random")
    ),
    "regression": _Task({"text": _TEXT}, "1.5"),
    "reranker": _Task({"query": _TEXT, "document": _TEXT}, "1"),
    "span": _Task(
        {"question": "film", "context": _TEXT},
        [{"text": "film", "answer_start": 0}],
    ),
    "token_classification": _Task(
        {"words": _WORDS}, ["O"] * len(_WORDS), ("O", "B-A")
    ),
}
NAMES = tuple(_TASKS)


def make_kind(name: str, seq_length: int, config: BertConfig) -> Kind:
    """Returns the kind with a name, and with a tokenizer of a few words."""
    task = _TASKS[name]
    settings = get_kind(name).Settings(max_seq_length=seq_length)
    spec = TaskSpec(name, tuple(task.fields), settings, task.labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.txt"
        file.write_text("\n".join(_VOCAB), encoding="utf-8")
        return build_kind(spec, BertTokenizer(file), config)


def make_batch(kind: Kind, batch_size: int) -> Batch:
    """Returns a batch of static shapes, as `finetune` makes it for a TPU."""
    task = _TASKS[kind.name]
    row = dict(task.fields)
    if task.label is not None:
        row["label"] = task.label
    examples = kind.encode([row] * batch_size, labeled=True)
    batches = training_batches(
        examples,
        batch_size=batch_size,
        num_epochs=1,
        seed=1,
        static_shapes=True,
    )
    return next(iter(batches))


def make_ids(
    signature: Signature, batch_size: int, seq_length: int
) -> tuple[tf.Tensor, ...]:
    """Returns arguments for `id_signature`, with two choices if it has any."""
    shapes = {2: (batch_size, seq_length), 3: (batch_size, 2, seq_length)}
    return tuple(
        tf.ones(shapes[spec.shape.rank], spec.dtype)
        for spec in signature.inputs
    )
