"""Texts and an embedder -> a smaller network with nearly the same vectors."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.errors import InputError
from keras_bert.finetuning.config import LAYER_PARTS, FinetuningConfig
from keras_bert.finetuning.encoding import encoded_folder
from keras_bert.finetuning.folder import read_kind
from keras_bert.finetuning.run import finetune
from keras_bert.io.paths import to_path
from keras_bert.tasks.base import Row, Task
from keras_bert.vectors.embed_files import embed_files, read_texts
from keras_bert.vectors.embedder import Embedder

# Every 100th text is held out for the metrics.
_HELD_OUT = 100


def distill(
    teacher: Embedder,
    checkpoint: str | Path,
    input_file: str,
    output_dir: str | Path,
    *,
    field: str | None = None,
    config: FinetuningConfig | None = None,
    settings: Mapping[str, Any] | None = None,
    cache_dir: str | Path | None = None,
    overwrite_output_dir: bool = False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> dict[str, float]:
    """Trains a network to reproduce the vectors of a larger network.

    The larger network is the teacher. The texts need no labels: the loss is 1
    minus the cosine between the teacher's vector and the network's vector of a
    text (as in Reimers and Gurevych 2020, arXiv 2004.09813, who use another
    distance). The teacher and the network may have different vocabularies. The
    teacher's vectors are computed once, and later calls read them from a file.
    Every 100th text is held out for the metrics.

    With a `hidden_layer_map`, `relation_layer_map` or `score_layer_map` in the
    config, the network also learns from the layers of the teacher, token by
    token. In this case, the teacher must have all word pieces of the network,
    and the teacher is called in every step.

    A good starting point is a copy of the teacher with only some of its layers
    (`keep_layers`) and a part of its vocabulary (`trim_vocab`).

    Example:
        >>> keras_bert.checkpoints.keep_layers("pretrained", "student", [1])
        >>> metrics = keras_bert.vectors.distill(
        ...     keras_bert.load_embedder("pretrained", max_seq_length=16),
        ...     "student",
        ...     "corpus.txt",
        ...     "distilled",
        ...     config=keras_bert.FinetuningConfig(num_train_epochs=1),
        ... )
        >>> sorted(metrics)
        ['cosine', 'loss']
        >>> keras_bert.load_embedder("distilled").settings.max_seq_length
        16

    Args:
        teacher: The embedder that `load_embedder` returned.
        checkpoint: The checkpoint from which the network starts: anything that
            `load_checkpoint` takes, with its config and vocabulary.
        input_file: The text files, as in `embed_files`.
        output_dir: A folder for the run, as in `finetune`. The trained model is
            of the kind `embedding`.
        field: The field with the text, as in `embed_files`.
        config: The learning rate, batch size, epochs and so on.
        settings: Settings of the kind `embedding` that differ from the
            teacher's settings. With `{"dense": "384:linear"}`, a network of any
            width returns vectors of 384 numbers.
        cache_dir: A local folder for the vectors of the teacher and the
            encoded texts, as in `finetune`.
        overwrite_output_dir: Whether to start over, as in `finetune`.
        callbacks: Keras callbacks, as in `finetune`.

    Returns:
        The metrics of the held-out texts: `cosine`, the mean cosine between the
        two vectors of a text, and `loss`, 1 - cosine.

    Raises:
        InputError: If the vectors of the two networks have different sizes, if
            there are fewer than two texts, or if a line or a setting is
            invalid. With a layer map, also if the teacher lacks a word piece of
            the network, if the teacher was loaded with a `pooling`, `dense` or
            `normalize` that differs from its checkpoint's, or if the teacher is
            a pre-trained checkpoint without settings.
    """
    config = FinetuningConfig.checked(config)
    if not isinstance(teacher, Embedder):
        raise InputError(
            f"The teacher is {teacher!r:.80}, but must be an Embedder; give "
            "the result of load_embedder."
        )
    if config.distribution_strategy == "multi_worker_mirrored":
        raise InputError(
            "distill runs in one process; choose another distribution_strategy."
        )
    folder = encoded_folder(to_path(output_dir), cache_dir)
    vectors_file = folder / f"{_digest(teacher, input_file, field)}.npy"
    text_fields: tuple[str, ...] = ("text", "other_text")
    teacher_model = None
    if any(config.layer_map(part) for part in LAYER_PARTS):
        teacher_model, text_fields = _folder_of(teacher)

    # `finetune` calls `read` after it has checked everything else.
    def read(data_dir: Path, split: str) -> Iterator[Row]:
        if not vectors_file.exists():
            embed_files(
                teacher,
                input_file,
                vectors_file,
                field=field,
                batch_size=config.eval_batch_size,
            )
        vectors = np.load(vectors_file, mmap_mode="r")
        for number, text in enumerate(read_texts(input_file, field)):
            is_held_out = number % _HELD_OUT == 0
            if text.strip() and is_held_out == (split != "train"):
                yield {text_fields[0]: text, "label": vectors[number].tolist()}

    own = {"dense": "", "dimensions": "", "loss": "vector"}
    task = Task(
        kind="embedding",
        text_fields=text_fields,
        metrics=("cosine",),
        read=read,
        settings=dataclasses.asdict(teacher.settings) | own,
        test_files={},
    )
    return finetune(
        task,
        folder,
        output_dir,
        checkpoint=checkpoint,
        config=config,
        settings=settings,
        cache_dir=cache_dir,
        teacher=teacher_model,
        overwrite_output_dir=overwrite_output_dir,
        callbacks=callbacks,
    )


def _folder_of(teacher: Embedder) -> tuple[Path, tuple[str, ...]]:
    """Returns the folder and the text fields of a teacher, for layer maps.

    Raises InputError if the teacher was loaded with settings that differ from
    the settings in the folder.
    """
    kind, _, checkpoint = read_kind(teacher.checkpoint)
    for name in ("pooling", "dense", "normalize"):
        given = getattr(teacher.settings, name)
        stored = getattr(kind.spec.settings, name)
        if given != stored:
            raise InputError(
                f"The teacher was loaded with {name}={given!r}, but layer maps "
                f"use {checkpoint.folder}, which has {name}={stored!r}; leave "
                f"out {name} when you load the teacher."
            )
    return checkpoint.folder, kind.spec.text_fields


def _digest(teacher: Embedder, input_file: str, field: str | None) -> str:
    """Returns a hash of everything that determines the teacher's vectors.

    Raises InputError if there are fewer than two texts.
    """
    digest = hashlib.blake2b(teacher.fingerprint().encode(), digest_size=16)
    num_texts = 0
    for text in read_texts(input_file, field):
        digest.update(ascii(text).encode())
        num_texts += bool(text.strip())
    if num_texts < 2:
        raise InputError(
            f"{input_file} has fewer than two texts; give more, because one is "
            "held out for the metrics."
        )
    return digest.hexdigest()
