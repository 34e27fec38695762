"""Guesses for masks, with the tokenizers and positions of other families."""

import pytest
import tensorflow as tf
from small_family import write_family

import keras_bert
from keras_bert.errors import InputError
from keras_bert.export.mask_filler import fill_mask, load_mask_filler
from keras_bert.models.pretraining import build_pretraining_model


def _build(config):
    return build_pretraining_model(config, next_sentence=False)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "family", ["modernbert", pytest.param("roberta", marks=pytest.mark.slow)]
)
def test_a_mask_takes_the_space_before_it(family, tmp_path):
    """The flag lstrip of the tokenizer says so."""
    folder = write_family(tmp_path / "base", family, build=_build)
    filler = load_mask_filler(folder, top_k=2)
    mask = filler.tokenizer.special_tokens.mask
    text = f"good  {mask} dog{mask}"
    packed = filler._pack(tf.constant([text, f" {mask} "]))
    rows = packed.features["input_ids"].to_list()
    first, second = (filler.tokenizer.tokens(x)[1:-1] for x in rows)
    assert first == ["good", mask, "Ġdog", mask]
    assert second == [mask, "Ġ"]
    model = _build(keras_bert.BertConfig.from_json(folder / "bert_config.json"))
    keras_bert.load_checkpoint(model, folder)
    guesses = fill_mask(model, filler.tokenizer, text, top_k=2)
    assert guesses == filler.fill(text) and len(guesses) == 2
    with pytest.raises(InputError, match="max_seq_length"):
        load_mask_filler(folder, max_seq_length=0)
