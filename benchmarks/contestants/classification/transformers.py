"""transformers' pipeline "text-classification"."""

import json

import torch
import transformers
from contestant import Prepared

PACKAGES = ("transformers", "torch", "tokenizers")


def prepare(options):
    torch.set_num_threads(options["num_threads"])
    classify = transformers.pipeline(
        "text-classification", model=options["model"], device="cpu"
    )
    with open(options["rows"], encoding="utf-8") as file:
        texts = [json.loads(line)["texts"][0] for line in file]
    label = classify.model.config.id2label[1]

    def run(case):
        answers = classify(texts, batch_size=case["batch_size"])
        # The pipeline returns only the label with the higher score.
        return [
            x["score"] if x["label"] == label else 1 - x["score"]
            for x in answers
        ]

    return Prepared(run, check=lambda scores: scores)
