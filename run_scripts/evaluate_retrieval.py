r"""Searches the documents of a collection with a model, and scores the result.

    python run_scripts/evaluate_retrieval.py --model_dir=pretrained \
        --data_dir=scifact --output_dir=out

The collection is a folder in BEIR's format. A prompt named query, if the model
has one, precedes each query, and one named document, passage or corpus
before each document; --prompts replaces them. The metrics are those of
trec_eval. out/run.trec can be read by trec_eval too.
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
DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "corpus.jsonl, queries.jsonl and qrels/test.tsv."
)
OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Gets eval_results.json and run.trec."
)
DIMENSIONS = flags.DEFINE_integer(
    "dimensions", None, "The first numbers of each vector to keep."
)
read_config = config_flags.define(keras_bert.vectors.RetrievalConfig)
read_settings = config_flags.define_settings(
    [keras_bert.kinds.EmbeddingSettings],
    ("pooling", "normalize", "max_seq_length", "prompts"),
)


def main():
    results = keras_bert.vectors.evaluate_retrieval(
        keras_bert.load_embedder(
            MODEL_DIR.value, dimensions=DIMENSIONS.value, **read_settings()
        ),
        DATA_DIR.value,
        OUTPUT_DIR.value,
        read_config(),
    )
    for name, value in results.items():
        print(f"{name} = {value:.6g}")


if __name__ == "__main__":
    config_flags.run(main, required=[MODEL_DIR, DATA_DIR, OUTPUT_DIR])
