r"""Writes the vector of each text of files to a .npy or .parquet file.

    python run_scripts/embed.py --model_dir=pretrained \
        --input_file='texts/*.txt.gz' --output_file=vectors.npy
    python run_scripts/embed.py --model_dir=finetuned --field=title \
        --input_file=articles.jsonl --output_file=vectors.parquet
    python run_scripts/embed.py --model_dir=e5 --prompt_name=query \
        --prompts='{"query": "query: "}' \
        --input_file=queries.txt --output_file=queries.npy

A line is a text. With --field, it is a JSON object with this field, or has
columns with tabs between them, which the first line of each file names. The
output file appears when it is whole. After a kill, the same command continues.
"""

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_string(
    "model_dir",
    None,
    "A fine-tuned model of the kind embedding, a folder of "
    "sentence-transformers, or a pre-trained checkpoint.",
)
INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Files or globs, separated by commas; may be .gz."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "Ends with .npy or .parquet."
)
FIELD = flags.DEFINE_string(
    "field", None, "The field with the text; by default the whole line."
)
PROMPT_NAME = flags.DEFINE_string(
    "prompt_name",
    None,
    "The prompt before each text, such as query or document; by default that "
    "of the model.",
)
DIMENSIONS = flags.DEFINE_integer(
    "dimensions", None, "The first numbers of each vector to keep."
)
BATCH_SIZE = flags.DEFINE_integer(
    "batch_size", 32, "Number of texts in a batch."
)
read_settings = config_flags.define_settings(
    [keras_bert.kinds.EmbeddingSettings],
    ("pooling", "normalize", "max_seq_length", "prompts"),
)


def main():
    count = keras_bert.embed_files(
        keras_bert.load_embedder(
            MODEL_DIR.value, dimensions=DIMENSIONS.value, **read_settings()
        ),
        INPUT_FILE.value,
        OUTPUT_FILE.value,
        field=FIELD.value,
        prompt_name=PROMPT_NAME.value,
        batch_size=BATCH_SIZE.value,
    )
    print(f"Wrote the vectors of {count} texts to {OUTPUT_FILE.value}")


if __name__ == "__main__":
    config_flags.run(main, required=[MODEL_DIR, INPUT_FILE, OUTPUT_FILE])
