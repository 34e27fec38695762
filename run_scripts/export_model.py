"""Exports a fine-tuned model as a SavedModel that takes raw strings.

python run_scripts/export_model.py --model_dir=out --export_dir=served
"""

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "The --output_dir of run_finetuning.py."
)
EXPORT_DIR = flags.DEFINE_string("export_dir", None, "The new SavedModel.")
TASK = flags.DEFINE_string(
    "task", None, "The Python file of the task, if it defines its own kind."
)


def main():
    if TASK.value:
        keras_bert.get_task(TASK.value)
    keras_bert.load_finetuned(MODEL_DIR.value).export(EXPORT_DIR.value)
    print(f"Wrote {EXPORT_DIR.value}")


if __name__ == "__main__":
    flags.mark_flags_as_required([MODEL_DIR, EXPORT_DIR])
    config_flags.run(main)
