"""An epoch as transformers' Trainer runs it.

The batches have examples in random order. Texts are padded to 128 tokens, as
run_glue.py does by default, or to the longest text of the batch. The steps of
some batches of the epoch are timed; reading and evaluation are not.
"""

import json
import random

import torch
import transformers
from contestant import Prepared
from epoch_sample import sample_by_size
from torch_adamw import torch_adamw

PACKAGES = ("transformers", "torch")
_BATCH_SIZE = 32


def prepare(options):
    torch.set_num_threads(options["num_threads"])
    torch.manual_seed(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        options["checkpoint"]
    )
    with open(options["rows"], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    random.Random(1).shuffle(rows)
    parts = [
        rows[i : i + _BATCH_SIZE] for i in range(0, len(rows), _BATCH_SIZE)
    ]
    all_batches = [
        {
            **tokenizer(
                *map(list, zip(*(row["texts"] for row in part), strict=True)),
                padding=options["padding"],
                truncation=True,
                max_length=128,
                return_tensors="pt",
            ),
            "labels": torch.tensor([row["label"] for row in part]),
        }
        for part in parts
    ]
    num_batches = options["num_batches"]
    sizes = [batch["input_ids"].numel() for batch in all_batches]
    batches = [all_batches[i] for i in sample_by_size(sizes, num_batches)]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        options["checkpoint"], num_labels=2
    ).train()
    optimizer = torch_adamw(model, 5e-5, 0.0)
    schedule = transformers.get_linear_schedule_with_warmup(
        optimizer, 0, 3 * len(all_batches)
    )

    def run(case):
        for batch in batches:
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        return loss.item()

    return Prepared(run, scale=lambda case: len(all_batches) / num_batches)
