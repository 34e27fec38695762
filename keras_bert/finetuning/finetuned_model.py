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
from keras_bert.checkpoints.load import load_whole
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig, check_is_bert
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
from keras_bert.kinds.fields import check_text
from keras_bert.kinds.hub_config import HubConfig
from keras_bert.kinds.kind import Answer, Kind
from keras_bert.kinds.regression import Regression
from keras_bert.kinds.spec import (
    build_kind,
    find_spec,
    has_spec,
    make_settings,
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

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_k: int | None = None,
    ) -> list[dict[str, Any]]:
        """Sorts documents by their score with a query, the best one first.

        Returns, for each of the `top_k` best documents or for all, a dict with
        `index`, its place in `documents`; `score`; and `document`.

        Raises InputError if the model does not answer pairs with a score.
        """
        spec = self.kind.spec
        if len(spec.text_fields) != 2 or not isinstance(self.kind, Regression):
            raise InputError(
                f"The model is a {spec.kind} of {', '.join(spec.text_fields)}, "
                "which has no score for a query and a document; give a "
                "reranker, or compare vectors with load_embedder."
            )
        check_text(query, "The query")
        documents = _strings("documents", documents)
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise InputError(f"top_k is {top_k!r}; give a number above 0.")
        first, second = spec.text_fields
        answers = self.predict([{first: query, second: x} for x in documents])
        scores = [answer["score"] for answer in answers]
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        return [
            {"index": i, "score": scores[i], "document": documents[i]}
            for i in order[:top_k]
        ]

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


def load_finetuned(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    text_fields: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> FinetunedModel:
    """Loads a model with its task: a result of `finetune`, or one of the Hub.

    The `config.json` of transformers says what a model of the Hub is for. A
    folder of sentence-transformers is a model of the kind `embedding`.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> model.kind.spec.labels
        ('0', '1')
        >>> model = keras_bert.load_finetuned("finetuned", labels=["no", "yes"])
        >>> model.kind.spec.labels
        ('no', 'yes')

    Args:
        path: An output_dir of `finetune` or one of its checkpoints; a folder
            of transformers or sentence-transformers, such as
            "hf://owner/name". If the model is of a kind of your own, import
            the file that defines the kind first.
        labels: Other names of the labels, in the order of their ids.
        text_fields: Other names of the fields that the model reads. A
            classifier of the Hub reads one text, `text`, if there are no two
            names here.
        settings: Settings of the kind that replace the model's own.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        InputError: If the files do not say what the task is, if they do not
            have all of its weights, or if an argument does not fit.
    """
    folder = finetuned_folder(path)
    kind, bert_config = read_kind(path, labels, text_fields, settings)
    model = kind.build_model(bert_config)
    load_whole(model, path)
    return FinetunedModel(model, kind, bert_config, _read_training(folder))


def read_kind(
    path: str | Path, labels=None, text_fields=None, settings=None
) -> tuple[Kind, BertConfig]:
    """Reads all of a fine-tuned model but its weights."""
    bert_config, tokenizer = load_config_and_tokenizer(path)
    spec = find_spec(finetuned_folder(path), bert_config)
    if labels is not None:
        labels = _strings("labels", labels)
        if spec.labels and len(labels) != len(spec.labels):
            raise InputError(
                f"The labels are {labels}, but the model has {len(spec.labels)}"
                f": {spec.labels}; give as many, in this order."
            )
        spec = dataclasses.replace(spec, labels=labels)
    if text_fields is not None:
        names = _strings("text_fields", text_fields)
        spec = dataclasses.replace(spec, text_fields=names)
    if settings:
        values = dataclasses.asdict(spec.settings) | dict(settings)
        changed = make_settings(spec.kind, values)
        spec = dataclasses.replace(spec, settings=changed)
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
    if not path:
        raise InputError(
            f"The model is {path!r}; give the output_dir of keras-bert "
            "finetune, or a folder of the Hub."
        )
    folder = checkpoint_folder(path)
    if has_spec(folder):
        return folder
    config = HubConfig.beside(folder)
    check_is_bert(config.values)
    raise InputError(
        f"{folder} has no task.json, and {config.described()}, so it is not a "
        "fine-tuned model: train it with finetune, or take the hidden states "
        "from load_pretrained, the vectors from load_embedder or the guesses "
        "at [MASK] from keras_bert.export.load_mask_filler."
    )


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


def _strings(name, values):
    """Returns a tuple; raises InputError if it would not hold strings."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"The {name} are {values!r:.80}; give a list of them.")
    values = tuple(values)
    for value in values:
        check_text(value, f"One of the {name}")
    return values


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
