"""What a fine-tuning run is made from: rows, task, settings and weights."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.config import BertConfig
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.finetuning.finetuned_model import finetuned_folder
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.kind import Kind
from keras_bert.tasks.base import Row
from keras_bert.training.run_files.fingerprint import Fingerprint, digest_of


def finetuning_fingerprint(
    kind: Kind,
    bert_config: BertConfig,
    config: FinetuningConfig,
    *,
    train_set: Examples,
    evaluations: Mapping[str, Evaluation],
    checkpoint: str | Path | None,
    teacher: str | Path | None,
) -> Fingerprint:
    """Returns the fingerprint of a run.

    The training rows count as the network sees them, the validation rows as
    they are read.
    """
    spec = dataclasses.asdict(kind.spec)
    digests = {
        "training rows": _digest_of_examples(train_set),
        "validation rows": digest_of(
            *(text_of_rows(e.rows) for e in evaluations.values())
        ),
        "vocabulary": digest_of(*kind.tokenizer.vocab),
        "settings of the tokenizer": digest_of(repr(kind.tokenizer.settings)),
        "network": digest_of(bert_config.to_json()),
        "initial weights": fingerprint_of(checkpoint) if checkpoint else "",
        "teacher": fingerprint_of(finetuned_folder(teacher)) if teacher else "",
    }
    return Fingerprint(
        config.fixed_settings() | spec.pop("settings") | spec, digests
    )


def _digest_of_examples(examples):
    parts = []
    for tensors in (examples.features, examples.labels, examples.weights):
        for name, tensor in sorted(tensors.items()):
            parts.append(f"{name} {tensor.dtype.name}")
            parts += map(
                np.ascontiguousarray,
                tf.nest.flatten(tensor, expand_composites=True),
            )
    return digest_of(*parts)


def text_of_rows(rows: Iterable[Row]) -> str:
    """Returns rows as a text that is the same in every process."""
    return json.dumps(list(rows), sort_keys=True, default=repr)
