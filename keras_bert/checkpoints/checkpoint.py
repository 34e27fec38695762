"""A path, a URL or a name -> a checkpoint with its config, weights and task.

The checkpoint is searched for once, and each of its files is read once.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.adapters import has_adapters, merge_into_base
from keras_bert.checkpoints.find import find_weights, local_weights
from keras_bert.checkpoints.heads import heads_of
from keras_bert.checkpoints.huggingface import has_untied_decoder
from keras_bert.checkpoints.keras_files import config_of_file
from keras_bert.checkpoints.names import Arrays
from keras_bert.checkpoints.read import is_huggingface_file, read_file
from keras_bert.checkpoints.sentence_transformers import read_dense_modules
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.checksums import check_is_undamaged
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import read_json
from keras_bert.text.tokenizer_files import vocab_in


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose file was found.

    Attributes:
        place: The path, URL or name that the user gave.
        file: The file with the weights, or the prefix of a TensorFlow
            checkpoint's files.
    """

    place: str | Path
    file: Path

    @staticmethod
    def of(checkpoint: "str | Path | Checkpoint") -> "Checkpoint":
        """Returns the checkpoint at a path, or the given `Checkpoint` itself.

        Raises FileNotFoundError if there is no checkpoint.
        """
        if isinstance(checkpoint, Checkpoint):
            return checkpoint
        return Checkpoint(checkpoint, find_weights(checkpoint))

    @staticmethod
    def of_tokenizer(checkpoint: "str | Path | Checkpoint") -> "Checkpoint":
        """Like `of`, but also accepts a folder with a tokenizer and no weights.

        The `file` of a checkpoint without weights is the vocabulary.
        """
        try:
            return Checkpoint.of(checkpoint)
        except FileNotFoundError:
            assert not isinstance(checkpoint, Checkpoint)
            file = vocab_in(to_path(checkpoint))
            if file is None:
                raise
            return Checkpoint(checkpoint, file)

    @property
    def folder(self) -> Path:
        """The folder with the weights, the config and the vocabulary."""
        return self.file.parent

    @functools.cached_property
    def checked_folder(self) -> Path:
        """The folder, after a check of its files against any checksums in it.

        Raises InputError if a file does not match its checksum.
        """
        check_is_undamaged(self.folder)
        return self.folder

    @functools.cached_property
    def config(self) -> BertConfig:
        """The config, from the `.keras` file or from a file beside the weights.

        If there is both a `bert_config.json` and a `config.json`, the file that
        belongs to the format of the weights is read; the log warns if the two
        files differ. If the weights have Hugging Face's names, "gelu" means the
        erf form in either file.

        Raises FileNotFoundError if there is no config.
        """
        if self.file.suffix == ".keras":
            return config_of_file(local_weights(self.file))
        names = ("bert_config.json", "config.json")
        files = [self.checked_folder / name for name in names]
        files = [file for file in files if file.is_file()]
        if not files:
            raise FileNotFoundError(
                f"{self.folder} has neither bert_config.json nor config.json; "
                "copy the checkpoint's config there, or give a bert_config."
            )
        # With only a config.json, the names of the weights do not matter.
        is_google = files[0].name == "bert_config.json"
        is_of_hub = is_google and is_huggingface_file(self.file)
        if is_of_hub:
            files.reverse()
        config = BertConfig.from_json(files[0])
        if is_of_hub and len(files) == 1:
            # As in pytorch-pretrained-bert, "gelu" is the erf form here.
            if read_json(files[0]).get("hidden_act", "gelu") == "gelu":
                config = dataclasses.replace(config, hidden_act="gelu_erf")
        for other in files[1:]:
            try:
                difference = config.difference(BertConfig.from_json(other))
            except InputError as error:
                difference = str(error)
            if difference:
                logging.warning(
                    "Reading %s, which belongs to the format of the weights, "
                    "and ignoring %s, which differs: %s",
                    files[0],
                    other,
                    difference,
                )
        return config

    @functools.cached_property
    def hub_config(self) -> dict[str, Any]:
        """The values of `config.json`; empty if there is no such file."""
        return read_json(self.folder / "config.json", is_needed=False)

    @functools.cached_property
    def arrays(self) -> Arrays:
        """The weights, keyed by their paths in our network.

        Adapters are merged into the weights of their base model. The weights of
        sentence-transformers' Dense modules are included.
        """
        _ = self.checked_folder
        arrays = read_file(self.file)
        if has_adapters(arrays):
            return merge_into_base(arrays, self.file)
        return arrays | read_dense_modules(self.folder)

    @functools.cached_property
    def heads(self) -> set[str]:
        """The heads that a model can load.

        A masked-LM head is left out if its decoder is not tied to the word
        embeddings.
        """
        is_untied = has_untied_decoder(self.arrays)
        return heads_of(self.arrays) - ({"masked_lm"} if is_untied else set())

    @property
    def vocab_file(self) -> Path | None:
        """The file with the vocabulary, if there is one."""
        return vocab_in(self.folder)

    @functools.cached_property
    def task(self) -> dict[str, str]:
        """The task, as {"task.json": the file's text}; empty without this file.

        A checkpoint with a task.json is a fine-tuned model. Raises InputError
        if the file is damaged.
        """
        file = self.folder / "task.json"
        if not file.is_file():
            return {}
        read_json(file)  # raises an error if the file is damaged
        return {file.name: file.read_text(encoding="utf-8")}

    def longest_sequence(
        self, bert_config: BertConfig, most: int | None = None
    ) -> int:
        """Returns the maximum sequence length, in tokens.

        The result is the smallest of the tokenizer's limit, the network's limit
        and `most`. Raises InputError if the tokenizer's `model_max_length` is
        not a number.
        """
        limits = [bert_config.max_position_embeddings, most]
        file = self.folder / "tokenizer_config.json"
        values = read_json(file, is_needed=False)
        # In transformers 2, the name of this key was max_len.
        length = values.get("model_max_length", values.get("max_len"))
        if not isinstance(length or 0, (int, float)):
            raise InputError(
                f"model_max_length in {file} is {length!r}, but must be a "
                "number; copy the file again."
            )
        # Without a limit, transformers writes 1e30.
        return int(min(limit for limit in [length, *limits] if limit))


AnyCheckpoint = str | Path | Checkpoint
