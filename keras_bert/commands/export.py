r"""Exports a model as a SavedModel that takes raw strings.

    keras-bert export --checkpoint=out --export_dir=served

Each call writes the next version: served/1, served/2 and so on. An exported
fine-tuned model returns the answers of its task, such as labels. An exported
pre-trained checkpoint returns vectors and, if it has a masked-LM head, guesses
for [MASK].

A fine-tuned network can also be written for LiteRT, ONNX Runtime or OpenVINO,
which answer short requests faster:

    keras-bert export --checkpoint=out --export_dir=lite \
        --format=litert --precision=int8 --data_dir=SST-2

--format=auto measures all formats on this machine, and writes the fastest. If
export_dir already contains versions, --format=auto writes their format.
--portable writes a SavedModel for servers that do not have tensorflow-text.

With --data_dir, or with a --format or --precision other than the default, the
command also writes a report beside the version's folder, such as
lite/1.report.json. The report has the size of the version. With --data_dir, the
report also has the metrics on the validation set before and after the export;
with --format=auto, it also has the measured times.

Args:
    checkpoint: The --output_dir of keras-bert finetune, or a pre-trained
        checkpoint in any format, with its config and vocabulary.
    export_dir: The folder of all versions of the model.
    task: The task of --data_dir, or the Python file that defines the kind of
        the model; by default, the task that the model was trained on.
    data_dir: The folder of a fine-tuned model's data. The metrics in the report
        are computed on the validation set in this folder. OpenVINO's int8 needs
        texts from the training set in this folder.
"""

import keras_bert
from keras_bert.commands.flags import Flags


def define(flags: Flags) -> None:
    flags.add_settings([keras_bert.export.PretrainedExportConfig])


def run(
    flags: Flags,
    checkpoint: str,
    export_dir: str,
    config: keras_bert.ExportConfig,
    task: str = "",
    data_dir: str = "",
) -> None:
    settings = flags.settings()
    if task:
        keras_bert.get_task(task)
    if keras_bert.finetuning.is_finetuned(checkpoint):
        for name in settings:
            raise keras_bert.InputError(
                f"--{name} is only for pre-trained checkpoints, but "
                f"{checkpoint} is a fine-tuned model; leave out --{name}."
            )
        model = keras_bert.load_finetuned(checkpoint)
        data = {}
        if data_dir:
            task_name = task or model.training.get("task")
            if not task_name:
                raise keras_bert.InputError(
                    f"{checkpoint} does not say what its task is; give --task."
                )
            of_model = keras_bert.get_task(task_name)
            data["rows"] = of_model.validation_rows(data_dir)
            if config.may_calibrate:
                data["calibration"] = of_model.training_rows(data_dir, 300)
        version = model.export(export_dir, config, **data)
    else:
        plain = keras_bert.ExportConfig(portable=config.portable)
        if config != plain or data_dir or task:
            raise keras_bert.InputError(
                f"{checkpoint} is a pre-trained checkpoint, but --format, "
                "--precision, --task and --data_dir need a fine-tuned model. "
                "To export vectors of texts, first run keras-bert convert "
                "--to=sentence_transformers, and export the result."
            )
        version = keras_bert.export.export_pretrained(
            checkpoint,
            export_dir,
            keras_bert.export.PretrainedExportConfig(**settings),
            portable=config.portable,
        )
    print(f"Wrote {version}")
    report = version.with_name(f"{version.name}.report.json")
    if report.is_file():
        print(report.read_text(encoding="utf-8"), end="")
