"""Exports a model as a SavedModel that takes raw strings.

    python run_scripts/export_model.py --model_dir=out --export_dir=served

Each call writes the next version: served/1, served/2 and so on. A fine-tuned
model answers the question of its task. A pre-trained checkpoint answers with
vectors and, if it has a masked-LM head, with guesses for [MASK].
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
    "task", None, "The Python file of the task, if it defines its own kind."
)
read_config = config_flags.define_settings([keras_bert.PretrainedExportConfig])


def main():
    settings = read_config()
    if TASK.value:
        keras_bert.get_task(TASK.value)
    if keras_bert.is_finetuned(MODEL_DIR.value):
        if settings:
            raise keras_bert.InputError(
                f"--{next(iter(settings))} is a setting of pre-trained "
                f"checkpoints, but {MODEL_DIR.value} is a fine-tuned model; "
                "leave it out."
            )
        model = keras_bert.load_finetuned(MODEL_DIR.value)
        version = model.export(EXPORT_DIR.value)
    else:
        version = keras_bert.export_pretrained(
            MODEL_DIR.value,
            EXPORT_DIR.value,
            keras_bert.PretrainedExportConfig(**settings),
        )
    print(f"Wrote {version}")


if __name__ == "__main__":
    flags.mark_flags_as_required([MODEL_DIR, EXPORT_DIR])
    config_flags.run(main)
