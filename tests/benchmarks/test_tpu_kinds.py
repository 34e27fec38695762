import pytest
from tpu import kinds

from keras_bert.config import BertConfig
from keras_bert.kinds.registry import known_kinds


def test_every_kind_of_the_package_is_there():
    own = {
        name
        for name, kind in known_kinds().items()
        if kind.__module__.startswith("keras_bert.")
    }
    assert set(kinds.NAMES) == own


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds.NAMES)
def test_a_batch_is_as_large_as_the_table_says(name):
    kind = kinds.make_kind(name, 128, BertConfig.from_name("bert_tiny"))
    features, labels, _ = kinds.make_batch(kind, 3)
    shape = features["input_ids"].shape
    assert (shape[0], shape[-1]) == (3, 128)
    assert set(labels) == set(kind.training_objectives)
