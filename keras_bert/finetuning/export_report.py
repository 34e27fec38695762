"""A fine-tuned model -> a folder that a server loads, and a report."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.config import BertConfig
from keras_bert.export.config import ExportConfig
from keras_bert.export.fastest import export_fastest
from keras_bert.export.finetuned import export_finetuned, in_bfloat16
from keras_bert.finetuning.evaluation import Evaluation
from keras_bert.io.folders import local_copy
from keras_bert.io.whole_files import write_json
from keras_bert.kinds.kind import Kind
from keras_bert.predict.network import load_network
from keras_bert.predict.versions import find_versions, format_of
from keras_bert.tasks.base import Row


def export_with_report(
    model: keras.Model,
    kind: Kind,
    export_dir: str | Path,
    config: ExportConfig,
    *,
    bert_config: BertConfig,
    training: Mapping[str, Any],
    evaluation: Evaluation | None,
    calibration: Sequence[Row],
) -> Path:
    """Exports a new version, and returns its folder.

    For the arguments and the report, see `FinetunedModel.export`.
    """

    def network_of(config: ExportConfig) -> keras.Model:
        if (config.format, config.precision) == ("saved_model", "bfloat16"):
            return in_bfloat16(model, kind, bert_config)
        return model

    def write(export_dir: str | Path, config: ExportConfig) -> Path:
        return export_finetuned(
            network_of(config),
            kind,
            export_dir,
            bert_config=bert_config,
            training=training,
            config=config,
            calibration=calibration,
        )

    needs_report = evaluation or config != ExportConfig()
    measured, version = None, None
    if config.format == "auto":
        # All versions of a model have the same format.
        earlier = next(iter(find_versions(export_dir).values()), None)
        if earlier is None:
            version, measured = export_fastest(
                write, export_dir, config.precision
            )
            earlier = version
        config = dataclasses.replace(config, format=format_of(earlier))
    version = version or write(export_dir, config)
    if not needs_report:
        return version
    files = [x for x in version.rglob("*") if x.is_file()]
    report = dataclasses.asdict(config)
    report["bytes"] = sum(x.stat().st_size for x in files)
    if measured:
        report["measured_ms"] = measured
    if evaluation:
        exported = network_of(config)
        if config.format != "saved_model":
            exported = load_network(local_copy(version))
        _, before = evaluation(model)
        _, after = evaluation(exported)
        report["metrics"] = {x: [before[x], after[x]] for x in before}
    write_json(version.with_name(f"{version.name}.report.json"), report)
    return version
