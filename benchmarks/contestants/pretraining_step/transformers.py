"""A step of BertForPreTraining with AdamW and clipping, as Trainer runs it.

transformers computes the logits of all positions, including positions that are
not masked, whose label is -100. With the option `compiled`, torch.compile makes
kernels for the forward and the backward pass.
"""

import contextlib
import functools

import numpy as np
import torch
import transformers
from contestant import Prepared
from random_batches import random_pretraining_batch
from torch_adamw import torch_adamw

PACKAGES = ("transformers", "torch")


def prepare(options):
    torch.set_num_threads(options["num_threads"])
    torch.manual_seed(1)
    config = transformers.BertConfig.from_json_file(options["config_file"])
    model = transformers.BertForPreTraining(config).train()
    optimizer = torch_adamw(model, 1e-4, 0.01)
    network = torch.compile(model) if options.get("compiled") else model
    # The weights stay in float32, as in keras_bert.
    lower = contextlib.nullcontext
    if options["precision"] == "bfloat16":
        lower = functools.partial(torch.autocast, "cpu", torch.bfloat16)

    def run(case):
        batch = _batch(**case, vocab_size=config.vocab_size)
        with lower():
            loss = network(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return Prepared(run)


@functools.cache
def _batch(**sizes):
    features = random_pretraining_batch(**sizes)
    labels = np.full_like(features["input_ids"], -100)
    np.put_along_axis(
        labels, features["masked_lm_positions"], features["masked_lm_ids"], 1
    )
    batch = {
        "input_ids": features["input_ids"],
        "attention_mask": features["input_mask"],
        "token_type_ids": features["segment_ids"],
        "labels": labels,
        "next_sentence_label": features["next_sentence_labels"],
    }
    return {name: torch.from_numpy(x).long() for name, x in batch.items()}
