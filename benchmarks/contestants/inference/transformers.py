"""transformers' BertModel, with the attention that transformers chooses.

With the option `compiled`, torch.compile makes kernels for each shape.
"""

import torch
import transformers
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("transformers", "torch")


def prepare(options):
    torch.set_num_threads(options["num_threads"])
    model = transformers.BertModel.from_pretrained(
        options["model"],
        add_pooling_layer=False,
        dtype=getattr(torch, options["precision"]),
    ).eval()
    network = model
    if options.get("compiled"):
        network = torch.compile(model, dynamic=False)

    @torch.inference_mode()
    def run(case):
        features = random_features(**case, vocab_size=model.config.vocab_size)
        features = {n: torch.from_numpy(x) for n, x in features.items()}
        return network(
            input_ids=features["input_ids"],
            attention_mask=features["input_mask"],
            token_type_ids=features["segment_ids"],
        ).last_hidden_state

    return Prepared(run, check=lambda hidden: hidden[0, 0, :8].tolist())
