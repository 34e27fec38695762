"""Exports a fine-tuned model as a SavedModel that takes raw strings.

python run_scripts/export_model.py --model_dir=out --export_dir=served
"""

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "The output_dir of run_finetuning.py."
)
EXPORT_DIR = flags.DEFINE_string("export_dir", None, "The SavedModel.")


def main():
    finetuned = keras_bert.load_finetuned(MODEL_DIR.value)
    keras_bert.export_saved_model(
        finetuned.model,
        finetuned.head,
        EXPORT_DIR.value,
        labels=finetuned.head.spec.labels,
    )
    print(f"Wrote {EXPORT_DIR.value}")


if __name__ == "__main__":
    flags.mark_flags_as_required([MODEL_DIR, EXPORT_DIR])
    config_flags.run(main)
