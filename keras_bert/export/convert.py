"""A checkpoint of any format -> the same weights in another format."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.google import to_google
from keras_bert.checkpoints.heads import (
    POOLERS,
    heads_of,
    leave_out,
    without_heads,
)
from keras_bert.checkpoints.huggingface import (
    to_huggingface,
    to_huggingface_config,
)
from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.checkpoints.names import Arrays
from keras_bert.checkpoints.quantized import quantize
from keras_bert.checkpoints.read import write_safetensors
from keras_bert.checkpoints.sentence_transformers import write_dense_modules
from keras_bert.checkpoints.tensorflow_files import write_tensorflow
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.model_card import CARD
from keras_bert.io import whole_files
from keras_bert.kinds.embedding.embedding import Embedding
from keras_bert.kinds.embedding.sentence_transformers import module_files
from keras_bert.kinds.kind import TaskSpec
from keras_bert.kinds.registry import get_kind, known_kinds
from keras_bert.kinds.spec import (
    find_spec,
    has_spec,
    read_task_file,
    settings_of,
    spec_to_json,
)
from keras_bert.text.tokenizer_files import hub_files
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import TokenizerBase

FORMATS = (
    "google_tf1",
    "huggingface",
    "int4",
    "int8",
    "keras",
    "sentence_transformers",
)
_BITS = {"int4": 4, "int8": 8}


def convert_checkpoint(
    checkpoint: str | Path,
    output_dir: str | Path,
    to: str,
    *,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Writes a copy of a checkpoint in another format.

    Only the formats int8 and int4 round the weights. The log warns about
    settings of the model that the new format cannot store.

    Example:
        >>> keras_bert.convert_checkpoint(
        ...     "pretrained", "converted", to="huggingface"
        ... )
        >>> keras_bert.BertConfig.from_json("converted/config.json")
        BertConfig(vocab_size=31, hidden_size=12, num_hidden_layers=2, ...

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is complete.
        to: The new format:

            - "google_tf1": bert_model.ckpt, bert_config.json, vocab.txt, and a
              tokenizer_config.json that only this package reads.
            - "huggingface": model.safetensors, config.json, vocab.txt,
              tokenizer.json and tokenizer_config.json.
            - "keras": model.safetensors (with this package's weight paths),
              bert_config.json, vocab.txt and tokenizer_config.json. If the
              model is fine-tuned or a sentence-transformers model, there is
              also a task.json.
            - "int8": like "keras", but matrices are rounded to 8 bits. The
              weights take a quarter of the bytes, and only this package can
              read them.
            - "int4": like "int8", but the word embeddings and the feed-forward
              networks are rounded to 4 bits.
            - "sentence_transformers": like "huggingface", plus the modules that
              turn a text into its vector. The model must be of the kind
              `embedding` or a pre-trained model.
        settings: Settings of the kind `embedding`, such as `pooling`, for
            "sentence_transformers". By default, the model's own settings or,
            for a pre-trained model, the defaults of the kind.

    Raises:
        FileNotFoundError: If the checkpoint or its config does not exist.
        InputError: If the format has no name for a weight or a setting.
    """
    if to not in FORMATS:
        raise InputError(
            f"There is no format {to!r}; choose one of {', '.join(FORMATS)}."
        )
    is_embedder = to == "sentence_transformers"
    if settings and not is_embedder:
        raise InputError(
            f"{next(iter(settings))} is a setting of sentence_transformers, "
            f"not of {to}; leave out this setting."
        )
    whole_files.check_is_new(output_dir)
    source = Checkpoint.of(checkpoint)
    config, arrays = source.config, source.arrays
    texts: dict[str, str] = {}
    dense: Arrays = {}
    if is_embedder:
        embedding = settings_of(source, config, Embedding, settings or {})
        texts = module_files(embedding, config)
        arrays, dense = _without_modules(arrays)
    is_ours = to in ("keras", *_BITS)
    spec, labels = (None, ()) if is_ours else _task_beside(source, config)
    more: dict[str, Any] = {}
    if spec:
        # Google's format stores none of these values. They are computed for
        # Google's format too, so that a model that neither format can describe
        # raises InputError.
        more |= get_kind(spec.kind).hub.config_values(spec.settings)
    vocab_file = source.vocab_file
    tokenizer: Any = load_tokenizer(source) if vocab_file else None
    if is_embedder or to == "huggingface":
        arrays, architecture = to_huggingface(arrays, config.family)
        # transformers derives the number of outputs from the label names.
        for name in ("classifier.bias", "classifier.out_proj.bias"):
            if not labels and name in arrays:
                (num_labels,) = arrays[name].shape
                labels = [f"LABEL_{i}" for i in range(num_labels)]
        values = to_huggingface_config(config, architecture, labels) | more
        if tokenizer:
            values |= _token_ids(tokenizer, config)
        texts["config.json"] = whole_files.to_json(values)
    else:
        texts["bert_config.json"] = config.to_json()
    if to in _BITS:
        arrays = quantize(arrays, bits=_BITS[to])
    if is_ours:
        texts |= source.task
        if not source.task and has_spec(source):
            texts["task.json"] = spec_to_json(find_spec(source, config))
    if vocab_file is None:
        logging.warning(
            "%s has no vocabulary, so %s has none either.",
            source.folder,
            output_dir,
        )
    else:
        length = source.longest_sequence(config)
        if source.task and not is_ours:
            task = read_task_file(source.folder / "task.json")
            most = task["settings"].get("max_seq_length")
            length = min(length, most or length)
        texts |= _tokenizer_files(tokenizer, vocab_file, length, to)
    if (card := source.folder / CARD).is_file():
        texts[CARD] = card.read_text(encoding="utf-8")
    with whole_files.atomic_path(output_dir) as folder:
        folder.mkdir()
        if to == "google_tf1":
            _check_google_has(config)
            write_tensorflow(folder / "bert_model.ckpt", to_google(arrays))
        else:
            write_safetensors(folder / "model.safetensors", arrays)
        whole_files.write_texts(folder, texts)
        write_dense_modules(folder, dense)
        if spec and not is_embedder:
            _warn_of_lost_settings(spec, Checkpoint.of(folder), config, to)


def _without_modules(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Returns the arrays of the network, and the arrays of the dense layers."""
    dense = {p: a for p, a in arrays.items() if p.startswith("dense_")}
    left_out = heads_of(arrays.keys() - dense.keys()) - POOLERS
    arrays = leave_out(arrays, left_out)
    return without_heads(arrays, heads_of(dense)), dense


def _token_ids(tokenizer: TokenizerBase, config: BertConfig) -> dict[str, int]:
    """Returns the token ids that differ from transformers' defaults, by key."""
    ids = {}
    if not config.first_position:  # otherwise, the family's config sets the id
        ids["pad_token_id"] = tokenizer.pad_id
    if config.family == "modernbert":
        ids["cls_token_id"] = ids["bos_token_id"] = tokenizer.cls_id
        ids["sep_token_id"] = ids["eos_token_id"] = tokenizer.sep_id
    return ids


def _tokenizer_files(
    tokenizer: TokenizerBase, vocab_file: Path, length: int, to: str
) -> dict[str, str]:
    if to in ("huggingface", "sentence_transformers"):
        texts = hub_files(tokenizer, length)
    else:
        texts = tokenizer.sidecars(length)
    if to == "google_tf1":
        _check_google_splits(tokenizer, vocab_file)
        texts["vocab.txt"] = "\n".join(tokenizer.vocab) + "\n"
    # A vocab.txt stays as it is, byte for byte.
    if vocab_file.suffix == ".txt" and tokenizer.vocab == tokenizer.pieces:
        texts["vocab.txt"] = vocab_file.read_bytes().decode()
    return texts


def _task_beside(
    checkpoint: Checkpoint, config: BertConfig
) -> tuple[TaskSpec | None, Sequence[str]]:
    """Returns the spec and the labels of a model.

    The spec is None if the model has no task, or if its kind is not known.
    """
    if checkpoint.task:
        task = read_task_file(checkpoint.folder / "task.json")
        if task["kind"] not in known_kinds():  # a kind of the user
            return None, task["labels"]
    if not has_spec(checkpoint):
        return None, ()
    spec = find_spec(checkpoint, config)
    return spec, spec.labels


def _warn_of_lost_settings(
    spec: TaskSpec, converted: Checkpoint, config: BertConfig, to: str
) -> None:
    """Warns if the converted model lacks settings of the original model."""
    kind = get_kind(spec.kind)
    if has_spec(converted):
        read = find_spec(converted, config).settings
    else:
        read = settings_of(converted, config, kind, {})
    lost = []
    for field in dataclasses.fields(spec.settings):
        value = getattr(spec.settings, field.name)
        is_kept = value == getattr(read, field.name, None)
        if not is_kept and not field.metadata.get("is_for_training"):
            lost.append(f"{field.name}={value}")
    if lost:
        logging.warning(
            "The format %s has no place for %s, so the converted model may "
            "answer differently; %s.",
            to,
            ", ".join(lost),
            "convert it to sentence_transformers or keras"
            if issubclass(kind, Embedding)
            else "keep a copy in our format, keras",
        )


def _check_google_splits(tokenizer: TokenizerBase, vocab_file: Path) -> None:
    """Warns about texts that google-research/bert will split differently.

    Raises InputError if google-research/bert cannot read the vocabulary.
    """
    settings = tokenizer.settings
    if tokenizer.json:
        raise InputError(
            f"google-research/bert cannot read {vocab_file}, which has no "
            "WordPiece vocabulary; convert to another format."
        )
    if settings.added_tokens:
        logging.warning(
            "google-research/bert splits the tokenizer's added tokens, such as "
            "%s, like other text.",
            settings.added_tokens[0].content,
        )
    if not settings.do_lower_case:
        logging.warning(
            "The model is cased; pass --do_lower_case=false to "
            "google-research/bert."
        )
    _warn_of_ignored(
        settings,
        TokenizerSettings(do_lower_case=settings.do_lower_case),
        "strips_accents tokenize_chinese_chars truncation_side special_tokens",
        "of the tokenizer, so it will make other ids from some texts",
    )


def _check_google_has(config: BertConfig) -> None:
    """Warns about config values that google-research/bert ignores.

    Raises InputError if google-research/bert cannot build the network.
    """
    if config.family_fields:
        raise InputError(
            "google-research/bert has no code for a network with "
            f"{', '.join(config.family_fields)}; convert to another format."
        )
    _warn_of_ignored(
        config,
        BertConfig,
        "directionality layer_norm_eps",
        "in the config, so its outputs will differ from those of this package",
    )


def _warn_of_ignored(
    settings: Any, googles: Any, names: str, effect: str
) -> None:
    """Logs each named value that differs from the value in Google's code."""
    for name in names.split():
        value = getattr(settings, name)
        if value != getattr(googles, name):
            logging.warning(
                "google-research/bert ignores %s=%s %s.", name, value, effect
            )
