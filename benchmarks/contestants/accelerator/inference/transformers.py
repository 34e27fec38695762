"""Inference with BertModel or BertForSequenceClassification in bfloat16.

On a GPU, `torch.compile` runs the model as a CUDA graph, which pays for small
batches. `scaled_dot_product_attention` computes the attention. The contestant
waits for every answer.
"""

import torch
import transformers
from accelerator import torch_device
from accelerator.step import Step, prepared
from random_batches import random_features

PACKAGES = ("transformers", "torch")


def prepare(options):
    torch_device.set_up(options["num_threads"])

    def build(config, seq_length, classifies, batch_size):
        features = torch_device.on_device(
            random_features(batch_size, seq_length, config["vocab_size"])
        )
        config = transformers.BertConfig(**config)
        if classifies:
            model = transformers.BertForSequenceClassification(config)
        else:
            model = transformers.BertModel(config, add_pooling_layer=False)
        model.to(torch_device.DEVICE, torch.bfloat16).eval()
        call = _compile(model, options["backend"])

        @torch.inference_mode()
        def run():
            torch_device.reset_peak_memory()
            outputs = call(
                input_ids=features["input_ids"],
                attention_mask=features["input_mask"],
                token_type_ids=features["segment_ids"],
            )
            torch_device.wait()
            return outputs[0]

        return Step(run, 1, torch_device.peak_memory)

    return prepared(build)


def _compile(model, backend):
    if backend != "inductor":
        return torch.compile(model, dynamic=False, backend=backend)
    return torch.compile(model, dynamic=False, mode="reduce-overhead")
