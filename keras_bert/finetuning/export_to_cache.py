"""A checkpoint -> the cached folder of its exported model, for a server."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import SCHEME
from keras_bert.checkpoints.sentence_transformers import modules_folder
from keras_bert.io.folders import file_states
from keras_bert.io.paths import to_path
from keras_bert.predict.versions import find_versions

_PACKAGE = Path(__file__).parent.parent


def export_to_cache(
    checkpoint: str | Path, cache_dir: str | Path = "~/.cache/keras_bert"
) -> Path:
    """Returns the folder of an exported model, for `serve` and `ServedModel`.

    The first call for a checkpoint exports the checkpoint; a later call only
    checks whether the sizes and times of the files have changed. If the
    checkpoint, this package or TensorFlow has changed, the checkpoint is
    exported to another folder. Old folders stay; delete them when no server
    needs them.

    Args:
        checkpoint: A model that `load_finetuned` loads, or a pre-trained
            checkpoint. A pre-trained checkpoint is exported with its maximum
            sequence length. Its vectors have norm 1, as in `load_embedder`. A
            folder of exported versions is returned as it is.
        cache_dir: The folder of the cache.

    Raises:
        FileNotFoundError: If the checkpoint or one of its files is missing.
        InputError: If the model cannot be exported.

    Example:
        >>> room = keras_bert.finetuning
        >>> folder = room.export_to_cache("finetuned", "cache")
        >>> folder == room.export_to_cache("finetuned", "cache")
        True
        >>> keras_bert.ServedModel(folder).inputs
        ('sentence',)
    """
    if not str(checkpoint).startswith(SCHEME) and find_versions(checkpoint):
        return to_path(checkpoint)
    source = Checkpoint.of(checkpoint)
    name = str(checkpoint).rstrip("/").rpartition("/")[2]
    exported = to_path(cache_dir) / f"{name}-{_fingerprint(source.folder)}"
    if not find_versions(exported):
        logging.info("Exporting %s to %s.", checkpoint, exported)
        # These imports take seconds.
        from keras_bert.export.config import PretrainedExportConfig
        from keras_bert.export.pretrained import export_pretrained
        from keras_bert.finetuning.by_kind import load_finetuned
        from keras_bert.kinds.spec import has_spec

        if has_spec(source):
            load_finetuned(checkpoint).export(exported)
        else:
            length = source.longest_sequence(source.config)
            config = PretrainedExportConfig(
                normalize=True, max_seq_length=length
            )
            export_pretrained(checkpoint, exported, config)
    return exported


def _fingerprint(folder: Path) -> str:
    """Returns a hash of everything that an exported model depends on."""
    sources = file_states(_PACKAGE).items()
    used = [
        file_states(modules_folder(folder) or folder),
        {name: x for name, x in sources if name.endswith(".py")},
        version("tensorflow"),
    ]
    content = json.dumps(used, sort_keys=True).encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
