r"""Exports a model as a SavedModel that takes raw strings.

    python run_scripts/export_model.py --model_dir=out --export_dir=served

Each call writes the next version: served/1, served/2 and so on. A fine-tuned
model answers the question of its task. A pre-trained checkpoint answers with
vectors and, if it has a masked-LM head, with guesses for [MASK].

A fine-tuned network can also be written as a file for LiteRT or ONNX Runtime,
which answer short requests faster:

    python run_scripts/export_model.py --model_dir=out --export_dir=lite \
        --format=litert --precision=int8 --data_dir=SST-2

A report beside the folder, lite/1.report.json, then compares its speed, and
its metrics on the validation set of --data_dir, with those of the model.
"""

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_string(
    "model_dir",
    None,
    "The --output_dir of run_finetuning.py, or a pre-trained checkpoint in any "
    "format, with its config and vocabulary.",
)
EXPORT_DIR = flags.DEFINE_string(
    "export_dir", None, "The folder of all versions of the model."
)
TASK = flags.DEFINE_string(
    "task",
    None,
    "The Python file of the task if it defines its own kind, or the task of "
    "--data_dir; by default, the one that the model was trained on.",
)
DATA_DIR = flags.DEFINE_string(
    "data_dir",
    None,
    "The data of the task of a fine-tuned model. The report then has the "
    "metrics on its validation set.",
)
read_export_config = config_flags.define(keras_bert.ExportConfig)
read_settings = config_flags.define_settings(
    [keras_bert.export.PretrainedExportConfig]
)


def main():
    config, settings = read_export_config(), read_settings()
    if TASK.value:
        keras_bert.get_task(TASK.value)
    if keras_bert.finetuning.is_finetuned(MODEL_DIR.value):
        version = _export_finetuned(config, settings)
    else:
        version = _export_pretrained(config, settings)
    print(f"Wrote {version}")
    report = version.with_name(f"{version.name}.report.json")
    if report.is_file():
        print(report.read_text(encoding="utf-8"), end="")


def _export_finetuned(config, settings):
    if settings:
        raise keras_bert.InputError(
            f"--{next(iter(settings))} is a setting of pre-trained "
            f"checkpoints, but {MODEL_DIR.value} is a fine-tuned model; "
            "leave it out."
        )
    model = keras_bert.load_finetuned(MODEL_DIR.value)
    return model.export(EXPORT_DIR.value, config, rows=_rows(model))


def _export_pretrained(config, settings):
    if config != keras_bert.ExportConfig() or DATA_DIR.value:
        raise keras_bert.InputError(
            f"{MODEL_DIR.value} is a pre-trained checkpoint, but --format, "
            "--precision and --data_dir take a fine-tuned model. To export "
            "vectors of texts, first run convert_checkpoint.py "
            "--to=sentence_transformers, and export what it writes."
        )
    return keras_bert.export.export_pretrained(
        MODEL_DIR.value,
        EXPORT_DIR.value,
        keras_bert.export.PretrainedExportConfig(**settings),
    )


def _rows(model):
    """Returns the labeled rows for the report, if there is a --data_dir."""
    if not DATA_DIR.value:
        return None
    name = TASK.value or model.training.get("task")
    if not name:
        raise keras_bert.InputError(
            f"{MODEL_DIR.value} does not say what its task is; give --task."
        )
    return keras_bert.get_task(name).validation_rows(DATA_DIR.value)


if __name__ == "__main__":
    config_flags.run(main, required=[MODEL_DIR, EXPORT_DIR])
