"""`BertTokenizer`: in one call, which uses one thread, or in tf.data.

With the option `portable`, it uses no operation of tensorflow-text.
"""

import json
from pathlib import Path

import tensorflow as tf
from contestant import Prepared
from tokenization.digests import digests

import keras_bert

PACKAGES = ("keras-bert-tf", "tensorflow-text")


def prepare(options):
    def load(case):
        lines = json.loads(
            Path(options["lines"], f"{case['lines']}.json").read_text()
        )
        if "folder" in case:
            tokenizer = keras_bert.load_tokenizer(
                Path(options["folders"], case["folder"])
            )
        else:
            vocab = f"bert-base-{case['vocab']}.vocab.txt"
            tokenizer = keras_bert.BertTokenizer(
                Path(options["vocabularies"], vocab), case["vocab"] == "uncased"
            )
        if options.get("portable"):
            tokenizer = keras_bert.text.PortableTokenizer.of(tokenizer)
        dataset = tf.data.Dataset.from_tensor_slices(lines).batch(1000)
        dataset = dataset.map(
            tokenizer, num_parallel_calls=options["num_threads"]
        )
        return lines, tokenizer, dataset

    loaded = {}

    def run(case):
        key = tuple(case.values())
        if key not in loaded:
            loaded[key] = load(case)
        lines, tokenizer, dataset = loaded[key]
        if options["pipeline"]:
            return list(dataset)
        return [tokenizer(lines)]

    return Prepared(
        run, check=lambda parts: digests(x for p in parts for x in p.to_list())
    )
