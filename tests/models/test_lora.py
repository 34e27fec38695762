import pytest
from conftest import V
from small_family import family_config

from keras_bert.errors import InputError
from keras_bert.models.lora import check_lora


def test_only_a_gated_feed_forward_has_a_gate(config):
    """Without an error, a network would get no adapters at all."""
    check_lora(family_config("modernbert", V), 2, "gate")
    message = (
        "lora_targets has 'gate', but the dense layers .*intermediate, out"
    )
    with pytest.raises(InputError, match=message):
        check_lora(config, 2, "query,gate")
