"""Inference with our network on JAX, compiled by XLA, weights in bfloat16.

The contestant waits for every answer. With `classifies`, an answer is the
logits of a classifier; without it, the hidden states.
"""

import jax
from accelerator import networks
from accelerator.jax_memory import memory_of
from accelerator.step import Step, prepared
from accelerator.variants import Variants
from random_batches import random_features

import keras_bert

PACKAGES = ("keras", "jax")


def prepare(options):
    variants = Variants(options.get("variants", ()))

    def build(config, seq_length, classifies, batch_size):
        network = _network(variants.config(config), classifies)
        output = "logits" if classifies else "sequence_output"

        @jax.jit
        def call(weights, seeds, features):
            outputs, _ = network.stateless_call(
                weights, seeds, features, training=False
            )
            return outputs[output]

        inputs = jax.device_put(
            (
                [v.value for v in network.trainable_variables],
                [v.value for v in network.non_trainable_variables],
                random_features(batch_size, seq_length, config["vocab_size"]),
            )
        )
        compiled = call.lower(*inputs).compile()
        variants.check_compiled(compiled)
        return Step(
            lambda: compiled(*inputs).block_until_ready(),
            1,
            lambda: memory_of(compiled),
        )

    return prepared(
        build,
        flops=networks.inference_flops,
        check=_first_numbers if "variants" in options else None,
    )


def _network(config, classifies):
    if classifies:
        return networks.network(
            keras_bert.models.build_classifier,
            config,
            "bfloat16",
            num_labels=networks.NUM_LABELS,
        )
    return networks.network(keras_bert.models.build_encoder, config, "bfloat16")


def _first_numbers(hidden):
    return hidden[0, 0].astype("float32").tolist()
