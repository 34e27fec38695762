"""BertModel with random weights, in float32."""

from pathlib import Path

import torch
import transformers
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("transformers", "torch")


def prepare(options):
    torch.set_num_threads(options["num_threads"])
    built = {}

    @torch.inference_mode()
    def run(case):
        model = case["model"]
        if model not in built:
            built.clear()  # the largest model needs the memory
            config = transformers.BertConfig.from_json_file(
                Path(options["configs"], f"{model}.json")
            )
            built[model] = transformers.BertModel(config).eval()
        features = random_features(
            case["batch_size"], case["seq_length"], options["vocab_size"]
        )
        features = {n: torch.from_numpy(x) for n, x in features.items()}
        return built[model](
            input_ids=features["input_ids"],
            attention_mask=features["input_mask"],
            token_type_ids=features["segment_ids"],
        ).last_hidden_state

    return Prepared(run)
