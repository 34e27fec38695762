"""What a Keras network says about itself."""

import dataclasses
import inspect
import re

import pytest

from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.config import BertConfig
from keras_bert.models import build_encoder
from keras_bert.training.optimizers.adam import AdamWeightDecay

# A value of each field that differs from the value in the tests' config.
OTHER_VALUES = {
    "vocab_size": 32,
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 28,
    "hidden_act": "relu",
    "hidden_dropout_prob": 0.2,
    "attention_probs_dropout_prob": 0.2,
    "max_position_embeddings": 20,
    "type_vocab_size": 1,
    "initializer_range": 0.1,
    "layer_norm_eps": 1e-5,
    "directionality": "left_to_right",
    "family": "electra",
    "embedding_size": 8,
    "first_position": 2,
    "position_embedding_type": "rotary",
    "rope_theta": 5.0,
    "rope_scaling_factor": 2.0,
    "local_attention": 4,
    "global_attn_every_n_layers": 2,
    "local_rope_theta": 6.0,
    "gated_feed_forward": True,
    "norm_placement": "before",
    "biases": "head",
    "pooler_act": "relu",
    "pooling": "mean",
    "masked_lm_act": "relu",
    "prediction_head": True,
}


@pytest.mark.slow
def test_every_field_of_the_config(config):
    """A new field needs a value above, and a place in the network's config.

    As in BERT, vectors such as biases have no weight decay.
    """
    signature = inspect.signature(AdamWeightDecay)
    excluded = signature.parameters["exclude_from_weight_decay"].default
    for field in dataclasses.fields(BertConfig):
        value = OTHER_VALUES[field.name]
        assert value != getattr(config, field.name)
        changed = dataclasses.replace(config, **{field.name: value})
        network = build_encoder(changed)
        assert config_of_network(network) == changed
        for weight in network.trainable_weights:
            is_excluded = any(re.search(x, weight.path) for x in excluded)
            assert is_excluded == (len(weight.shape) == 1), weight.path
