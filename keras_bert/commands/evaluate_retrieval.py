r"""Searches the documents of a collection with a model, and scores the result.

    keras-bert evaluate-retrieval --checkpoint=pretrained \
        --data_dir=scifact --output_dir=out

The collection is a folder in BEIR's format. A prompt named query, if the model
has one, precedes each query, and one named document, passage or corpus
precedes each document; --prompts replaces them. The metrics are those of
trec_eval (extra `retrieval`), which can also read out/run.trec.

Args:
    checkpoint: A fine-tuned model of the kind embedding, a folder of
        sentence-transformers, or a pre-trained checkpoint; by default, the
        small English model in this package.
    data_dir: The folder of corpus.jsonl, queries.jsonl and qrels/test.tsv.
    output_dir: Gets eval_results.json and run.trec.
    dimensions: How many numbers of each vector to keep, from the first on.
"""

import keras_bert
from keras_bert.commands.embed import define  # noqa: F401
from keras_bert.commands.flags import Flags


def run(
    flags: Flags,
    data_dir: str,
    output_dir: str,
    config: keras_bert.vectors.RetrievalConfig,
    checkpoint: str = "mini_en",
    dimensions: int | None = None,
) -> dict[str, float]:
    embedder = keras_bert.load_embedder(
        checkpoint, dimensions=dimensions, **flags.settings()
    )
    return keras_bert.vectors.evaluate_retrieval(
        embedder, data_dir, output_dir, config
    )
