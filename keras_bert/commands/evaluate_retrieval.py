r"""Searches the documents of a collection with a model, and scores the result.

    keras-bert evaluate-retrieval --checkpoint=pretrained \
        --data_dir=scifact --output_dir=out

The collection is a folder in BEIR format. If the model has a prompt named
query, this prompt precedes each query. If it has a prompt named document,
passage or corpus, that prompt precedes each document. --prompts replaces the
model's prompts.

trec_eval, which the extra `retrieval` installs, computes the metrics. You can
also run trec_eval on out/run.trec, which lists the ranked documents.

Args:
    checkpoint: A fine-tuned model of the kind embedding, a
        sentence-transformers folder, or a pre-trained checkpoint; by default,
        the small English model in this package.
    data_dir: The folder with corpus.jsonl, queries.jsonl and qrels/test.tsv.
    output_dir: The folder for eval_results.json and run.trec.
    dimensions: The size to which each vector is cut; by default, vectors are
        not cut.
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
