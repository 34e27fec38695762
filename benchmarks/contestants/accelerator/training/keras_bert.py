"""A training step of our network on JAX, compiled as one function by XLA.

The weights and moments are float32, and the network computes in bfloat16. With
`num_predictions`, the step is a pre-training step with both objectives; without
it, a classifier's step. The new weights and moments use the buffers of the old
weights and moments.
"""

import jax
import jax.numpy as jnp
from accelerator import networks
from accelerator.jax_adam import apply_gradients, no_moments
from accelerator.jax_memory import memory_of
from accelerator.step import Step, prepared
from accelerator.variants import Variants
from random_batches import random_pretraining_batch

import keras_bert

PACKAGES = ("keras", "jax")
_LEARNING_RATE = 1e-4


def prepare(options):
    return prepared(
        step_builder(options),
        flops=networks.training_flops,
        check=(lambda loss: [loss]) if "variants" in options else None,
    )


def step_builder(options):
    """Returns the function that builds the step of a case."""
    variants = Variants(options.get("variants", ()))

    def build(config, seq_length, num_predictions, batch_size, num_steps):
        network = network_of(variants.config(config), bool(num_predictions))
        take = compiled_step(network, variants)
        batch = jax.device_put(
            random_pretraining_batch(
                batch_size, seq_length, num_predictions, config["vocab_size"]
            )
        )
        # Copies, because the first step reuses the buffers of its arguments.
        weights = [jnp.copy(v.value) for v in network.trainable_variables]
        seeds = [jnp.copy(v.value) for v in network.non_trainable_variables]
        state = [weights, seeds, no_moments(weights)]
        with variants.while_compiling():
            compiled = take.lower(*state, batch).compile()
        variants.check_compiled(compiled)

        def run():
            for _ in range(num_steps):
                *new_state, loss = compiled(*state, batch)
                state[:] = new_state
            return float(loss)  # waits

        return Step(
            run, num_steps, lambda: memory_of(compiled), compiled.as_text
        )

    return build


def network_of(config, is_pretraining):
    """Returns the network for a config with Hugging Face's keys."""
    if is_pretraining:
        return networks.network(
            keras_bert.models.build_pretraining_model, config, "mixed_bfloat16"
        )
    return networks.network(
        keras_bert.models.build_classifier,
        config,
        "mixed_bfloat16",
        num_labels=networks.NUM_LABELS,
    )


def compiled_step(network, variants):
    """Returns the step as a function that JAX compiles.

    Its arguments are the weights, the seeds, the moments and the batch.
    """
    inputs = list(network.input)
    paths = [v.path for v in network.trainable_variables]

    def step(weights, seeds, moments, batch):
        def loss_of(weights):
            features = {name: batch[name] for name in inputs}
            outputs, new_seeds = network.stateless_call(
                weights, seeds, features, training=True
            )
            with jax.named_scope("loss"):
                return _loss(outputs, batch), new_seeds

        (loss, seeds), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            weights
        )
        with jax.named_scope("optimizer"):
            weights, moments = apply_gradients(
                gradients, weights, moments, paths, _LEARNING_RATE
            )
        return weights, seeds, moments, loss

    donated = (0, 1, 2) if variants.donates else ()
    return jax.jit(step, donate_argnums=donated)


def _loss(outputs, batch):
    if "logits" in outputs:
        return _cross_entropy(outputs["logits"], batch["next_sentence_labels"])
    return _cross_entropy(
        outputs["masked_lm"], batch["masked_lm_ids"]
    ) + _cross_entropy(outputs["next_sentence"], batch["next_sentence_labels"])


def _cross_entropy(logits, labels):
    of_label = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - of_label)
