"""A fine-tuned model: load it, ask it, evaluate it, export it."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.export.finetuned import export_finetuned, in_bfloat16
from keras_bert.export.network import export_network, load_network
from keras_bert.finetuning.evaluation import Evaluation, Predictor
from keras_bert.finetuning.export_report import export_report
from keras_bert.finetuning.rows import as_rows
from keras_bert.io.local_copy import local_copy
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import check_is_new, to_json, write_json
from keras_bert.kinds.kind import Answer, Kind
from keras_bert.kinds.spec import (
    build_kind,
    find_spec,
    has_spec,
    spec_to_json,
)
from keras_bert.tasks.base import Row
from keras_bert.training.checkpoint import write_weights

Rows = Iterable[Row] | Mapping[str, Sequence]
_TRAINING = "training.json"
_BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class FinetunedModel:
    """A network, and the kind of task that gives its numbers a meaning.

    Attributes:
        model: The network.
        kind: Encodes rows and decodes outputs; `kind.spec` is the task.
        bert_config: The encoder.
        training: What is known of the training: `task`, `data`,
            `checkpoint`, `num_train_examples`, `num_train_steps`,
            `config`, `metrics` and, if it had one, the `teacher`; empty for a
            model that was not trained.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> (answer,) = model.predict([{"sentence": "a very good film"}])
        >>> sorted(answer)
        ['label', 'num_tokens', 'scores', 'truncated']
        >>> rows = [{"sentence": "a very good film", "label": "1"}]
        >>> sorted(model.evaluate(rows))
        ['accuracy', 'loss']
        >>> model.export("served").name
        '1'
        >>> model.export("lite", keras_bert.ExportConfig("litert")).name
        '1'
        >>> model.save("copy")
    """

    model: keras.Model
    kind: Kind
    bert_config: BertConfig
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def predict(self, rows: Rows, *, batch_size: int = 64) -> list[Answer]:
        """Answers rows, each a dict with the text fields of the task.

        A dict of lists of equal length or a DataFrame holds rows too.
        """
        rows = as_rows(rows, self.kind.spec.text_fields)
        if not rows:
            return []
        examples = self.kind.encode(rows, labeled=False)
        outputs, _ = self._predictor(examples, batch_size=batch_size)
        return self.kind.answer(rows, examples, outputs)

    def evaluate(self, rows: Rows, *, batch_size: int = 64) -> dict[str, float]:
        """Returns the metrics of the task and the loss, on labeled rows."""
        rows = as_rows(rows, self.kind.spec.text_fields)
        evaluation = Evaluation(self.kind, rows, batch_size=batch_size)
        return evaluation(self.model)[1]

    def export(
        self,
        export_dir: str | Path,
        config: ExportConfig | None = None,
        *,
        rows: Rows | None = None,
    ) -> Path:
        """Writes the next version of a served model, such as `export_dir/1`.

        By default, it is a SavedModel that takes strings; see
        `export_finetuned`. For other formats, see `export_network`. For
        another format or precision, or if there are labeled `rows`, a report
        beside the folder, such as `export_dir/1.report.json`, compares it with
        this model: its speed, and the metrics on the rows. See
        `export_report`. Returns the version's folder.
        """
        config = config or ExportConfig()
        # Before anything is written, because a row may be wrong.
        evaluation = None
        if rows is not None:
            rows = as_rows(rows, self.kind.spec.text_fields)
            evaluation = Evaluation(self.kind, rows, batch_size=_BATCH_SIZE)
        exported = self.model
        if config.precision == "bfloat16":
            exported = in_bfloat16(self.model, self.kind, self.bert_config)
        parts: dict[str, Any] = {
            "bert_config": self.bert_config,
            "training": self.training,
        }
        if config.format == "saved_model":
            version = export_finetuned(exported, self.kind, export_dir, **parts)
        else:
            version = export_network(
                exported, self.kind, export_dir, config=config, **parts
            )
            exported = load_network(local_copy(version))
        if evaluation or config != ExportConfig():
            report = export_report(self.model, exported, self.kind, evaluation)
            size = sum(
                x.stat().st_size for x in version.rglob("*") if x.is_file()
            )
            write_json(
                version.with_name(f"{version.name}.report.json"),
                dataclasses.asdict(config) | {"bytes": size} | report,
            )
        return version

    def save(self, output_dir: str | Path) -> None:
        """Writes a new folder that `load_finetuned` loads.

        Raises InputError if the folder exists.
        """
        output_dir = to_path(output_dir)
        check_is_new(output_dir)
        texts = sidecars(self.kind, self.bert_config, self.training)
        write_weights(self.model, output_dir, texts)

    @functools.cached_property
    def _predictor(self):
        return Predictor(self.model, self.kind.objectives)


def load_finetuned(path: str | Path) -> FinetunedModel:
    """Loads the result of `finetune`: its output_dir or one of its checkpoints.

    A folder of sentence-transformers is a model of the kind `embedding`. If the
    model is of a kind of your own, import the file that defines the kind first.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> model.kind.spec.labels
        ('0', '1')
    """
    folder = finetuned_folder(path)
    kind, bert_config = read_kind(path)
    model = kind.build_model(bert_config)
    load_checkpoint(model, path)
    return FinetunedModel(model, kind, bert_config, _read_training(folder))


def read_kind(path: str | Path) -> tuple[Kind, BertConfig]:
    """Reads all of a fine-tuned model but its weights."""
    bert_config, tokenizer = load_config_and_tokenizer(path)
    spec = find_spec(finetuned_folder(path), bert_config)
    return build_kind(spec, tokenizer, bert_config), bert_config


def is_finetuned(path: str | Path) -> bool:
    """Returns whether `load_finetuned` loads a checkpoint.

    Raises FileNotFoundError if there is no checkpoint.

    Example:
        >>> keras_bert.finetuning.is_finetuned("finetuned")
        True
        >>> keras_bert.finetuning.is_finetuned("pretrained")
        False
    """
    return has_spec(checkpoint_folder(path))


def finetuned_folder(path: str | Path | None) -> Path:
    """Returns the folder with the weights of a fine-tuned model.

    Raises InputError if there is none.
    """
    folder = path and checkpoint_folder(path)
    if not folder or not has_spec(folder):
        raise InputError(
            f"{folder} has no task.json, so it is not a fine-tuned model; "
            "give the output_dir of keras-bert finetune, or a folder of "
            "sentence-transformers."
        )
    return folder


def sidecars(
    kind: Kind, bert_config: BertConfig, training: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the text files beside the weights of a fine-tuned model."""
    return {
        "bert_config.json": bert_config.to_json(),
        "task.json": spec_to_json(kind.spec),
        _TRAINING: to_json(training),
        **kind.tokenizer.sidecars(bert_config.max_position_embeddings),
    }


def _read_training(folder):
    """Reads `training.json`, and the metrics that `finetune` wrote at the end.

    The metrics are those of the best checkpoint.
    """
    training: dict[str, Any] = {}
    if (folder / _TRAINING).is_file():
        training = json.loads((folder / _TRAINING).read_bytes())
    results = folder.parent / "eval_results.json"
    if folder.name == "best" and results.is_file():
        training["metrics"] = json.loads(results.read_bytes())
    return training
