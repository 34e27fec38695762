"""A fine-tuned model with what its numbers mean: load it, ask it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import keras

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.finetuning.predictor import Predictor
from keras_bert.kinds.base import Answer, Head, build_head
from keras_bert.kinds.spec import TaskSpec
from keras_bert.tasks.base import Row


@dataclasses.dataclass(frozen=True)
class FinetunedModel:
    """The network, and the head that gives its numbers a meaning."""

    model: keras.Model
    head: Head

    def predict(
        self, rows: Sequence[Row], *, batch_size: int = 64
    ) -> list[Answer]:
        """Answers rows that have the text fields; see `Head.decode`."""
        if not rows:
            return []
        examples = self.head.encode(rows, labeled=False)
        outputs, _ = self._predictor(examples, batch_size=batch_size)
        return self.head.decode(rows, examples, outputs)

    @functools.cached_property
    def _predictor(self):
        return Predictor(self.model, self.head.objectives)


def load_finetuned(path: str | Path) -> FinetunedModel:
    """Loads what `finetune` made: its output_dir or one of its checkpoints."""
    folder = check_is_finetuned(path)
    spec = TaskSpec.from_json(folder / "task.json")
    bert_config = BertConfig.from_json(folder / "bert_config.json")
    head = build_head(spec, folder / "vocab.txt", bert_config)
    model = head.build_model(bert_config)
    load_checkpoint(model, folder)
    return FinetunedModel(model, head)


def check_is_finetuned(path: str | Path | None) -> Path:
    """Returns the folder of a fine-tuned model's weights.

    Raises FileNotFoundError where there is none.
    """
    folder = path and checkpoint_folder(path)
    if not folder or not (folder / "task.json").is_file():
        raise FileNotFoundError(
            f"{folder} has no task.json, so it is not a fine-tuned model; "
            "give the output_dir of run_finetuning.py."
        )
    return folder
