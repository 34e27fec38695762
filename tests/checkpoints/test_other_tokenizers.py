"""A network of BERT with the tokenizer of another family, from end to end."""

import numpy as np
import pytest

import keras_bert
from keras_bert.errors import InputError

pytestmark = pytest.mark.slow

TEXTS = ["a good film", "a bad film", "좋은 영화 입니다", "  나쁜 영화!"]


@pytest.fixture(params=["xlm_roberta", "roberta", "mpnet"])
def checkpoint(request, shared, tmp_path):
    folder = shared / "golden/other_tokenizers" / request.param
    tokenizer = keras_bert.load_tokenizer(folder)
    config = keras_bert.BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
    )
    model = keras_bert.models.build_pretraining_model(config)
    keras_bert.save_pretrained(model, tokenizer, tmp_path / request.param)
    return tmp_path / request.param


def _scores(answers):
    return [[*answer["scores"].values()] for answer in answers]


def test_from_training_to_serving(checkpoint, tmp_path):
    model = keras_bert.TextClassifier.from_pretrained(
        checkpoint, max_seq_length=16
    )
    model.fit(TEXTS, ["y", "n", "y", "n"], epochs=4, learning_rate=1e-2)
    expected = _scores(model.predict(TEXTS))
    model.save(tmp_path / "saved")
    assert not (tmp_path / "saved/vocab.txt").exists()
    again = keras_bert.load_finetuned(tmp_path / "saved")
    np.testing.assert_allclose(_scores(again.predict(TEXTS)), expected, 1e-5)
    for name in ("saved_model", "onnx"):
        again.export(tmp_path / name, keras_bert.ExportConfig(name))
        served = keras_bert.ServedModel(tmp_path / name)
        answers = served.answer([{"text": text} for text in TEXTS])
        np.testing.assert_allclose(_scores(answers), expected, 1e-4, 1e-5)


def test_trimmed(checkpoint, tmp_path):
    tokenizer = keras_bert.load_tokenizer(checkpoint)
    if checkpoint.name == "roberta":
        with pytest.raises(InputError, match="has a BPE model"):
            keras_bert.checkpoints.trim_vocab(
                checkpoint, tmp_path / "trimmed", TEXTS
            )
        return
    keras_bert.checkpoints.trim_vocab(checkpoint, tmp_path / "trimmed", TEXTS)
    trimmed = keras_bert.load_tokenizer(tmp_path / "trimmed")
    assert trimmed.vocab_size < tokenizer.vocab_size / 3
    for old, new in zip(tokenizer(TEXTS), trimmed(TEXTS), strict=True):
        assert trimmed.tokens(new) == tokenizer.tokens(old)
