"""What a pre-training run is made from: records, settings and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.io.paths import to_path
from keras_bert.pretraining.config import PretrainingConfig
from keras_bert.pretraining.read.weighted_files import WeightedFiles
from keras_bert.training.fingerprint import Fingerprint, digest_of

_NUM_BYTES = 1 << 16


def pretraining_fingerprint(
    config: PretrainingConfig,
    train_files: Sequence[WeightedFiles],
    held_out_files: Sequence[WeightedFiles],
    sidecars: Mapping[str, str],
    checkpoint: str | Path | None,
) -> Fingerprint:
    """Returns the fingerprint of a run.

    `sidecars` have the network, the vocabulary and the settings of the
    tokenizer. Of each file of records count the size, the beginning and the
    end, because a corpus may be larger than what can be read at the start.
    """
    return Fingerprint(
        config.fixed_settings(),
        {
            "training records": _digest_of_files(train_files),
            "held-out records": _digest_of_files(held_out_files),
            "initial weights": fingerprint_of(checkpoint) if checkpoint else "",
            **{name: digest_of(text) for name, text in sidecars.items()},
        },
    )


def _digest_of_files(corpora):
    return digest_of(
        *(
            part
            for corpus in corpora
            for part in (
                str(corpus.weight),
                *(x for file in corpus.files for x in _ends(to_path(file))),
            )
        )
    )


def _ends(file):
    with file.open("rb") as opened:
        begin = opened.read(_NUM_BYTES)
        size = opened.seek(0, 2)
        opened.seek(max(0, size - _NUM_BYTES))
        return str(size), begin, opened.read()
