r"""Converts a checkpoint to another format; the weights stay bit-identical.

    python run_scripts/convert_checkpoint.py --to=huggingface \
        --input=uncased_L-12_H-768_A-12 --output=bert-base-uncased

--to=sentence_transformers writes a model of the kind embedding, or a
pre-trained one with --pooling, --normalize and --max_seq_length. --prompts
names the prompts, such as '{"query": "query: "}'.
"""

import config_flags
from absl import flags

import keras_bert

INPUT = flags.DEFINE_string(
    "input", None, "A folder, a file, a prefix or hf://owner/name."
)
OUTPUT = flags.DEFINE_string("output", None, "The new folder.")
TO = flags.DEFINE_enum(
    "to",
    None,
    ["google_tf1", "huggingface", "keras", "sentence_transformers"],
    "The new format: Google's TF1, transformers, keras_bert or "
    "sentence-transformers.",
)
read_settings = config_flags.define_settings(
    [keras_bert.kinds.EmbeddingSettings],
    (
        "pooling",
        "normalize",
        "max_seq_length",
        "prompts",
        "default_prompt_name",
    ),
)


def main():
    keras_bert.convert_checkpoint(
        INPUT.value, OUTPUT.value, TO.value, settings=read_settings()
    )
    print(f"Wrote {OUTPUT.value}")


if __name__ == "__main__":
    config_flags.run(main, required=[INPUT, OUTPUT, TO])
