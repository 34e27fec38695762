"""A training step of BertForPreTraining or BertForSequenceClassification.

`torch.compile` compiles the forward and the backward pass,
`scaled_dot_product_attention` computes the attention, and AdamW is fused. The
weights stay in float32, and autocast computes in bfloat16, as in our step.

BertForPreTraining's `forward` computes the logits of all positions. Here, the
heads are called with the masked positions only.
"""

import torch
import torch.nn.functional as F
import transformers
from accelerator import torch_device
from accelerator.step import Step, prepared
from random_batches import random_pretraining_batch
from torch_adamw import torch_adamw

PACKAGES = ("transformers", "torch")


def prepare(options):
    return prepared(step_builder(options))


def step_builder(options):
    """Returns the function that builds the step of a case."""
    torch_device.set_up(options["num_threads"])

    def build(config, seq_length, num_predictions, batch_size, num_steps):
        batch = torch_device.on_device(
            random_pretraining_batch(
                batch_size, seq_length, num_predictions, config["vocab_size"]
            )
        )
        if not options["passes_mask"]:
            batch["input_mask"] = None
        config = transformers.BertConfig(**config)
        model, loss_of = (
            _pretraining(config) if num_predictions else _classifier(config)
        )
        model.to(torch_device.DEVICE).train()
        optimizer = torch_adamw(model, 1e-4, 0.01)
        loss_of = torch.compile(
            loss_of, dynamic=False, backend=options["backend"]
        )

        def run():
            torch_device.reset_peak_memory()
            for _ in range(num_steps):
                with torch.autocast(torch_device.DEVICE, torch.bfloat16):
                    loss = loss_of(batch)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            return loss.item()  # waits

        return Step(run, num_steps, torch_device.peak_memory)

    return build


def _pretraining(config):
    model = transformers.BertForPreTraining(config)

    def loss_of(batch):
        outputs = model.bert(**_inputs(batch))
        hidden = outputs.last_hidden_state
        positions = batch["masked_lm_positions"][..., None]
        masked = hidden.gather(1, positions.expand(-1, -1, hidden.shape[-1]))
        tokens, sentences = model.cls(masked, outputs.pooler_output)
        return _cross_entropy(
            tokens.flatten(0, 1), batch["masked_lm_ids"].flatten()
        ) + _cross_entropy(sentences, batch["next_sentence_labels"])

    return model, loss_of


def _classifier(config):
    config.num_labels = 2
    model = transformers.BertForSequenceClassification(config)

    def loss_of(batch):
        logits = model(**_inputs(batch)).logits
        return _cross_entropy(logits, batch["next_sentence_labels"])

    return model, loss_of


def _inputs(batch):
    return {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["input_mask"],
        "token_type_ids": batch["segment_ids"],
    }


def _cross_entropy(logits, labels):
    return F.cross_entropy(logits.float(), labels)
