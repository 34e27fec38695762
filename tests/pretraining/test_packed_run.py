"""A run takes the same steps with and without packing."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from keras_bert.pretraining import run as pretraining
from keras_bert.pretraining.run import PretrainingConfig, pretrain
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.run import create_pretraining_data
from keras_bert.text.tokenizer import BertTokenizer

CONFIG = PretrainingConfig(
    learning_rate=0.003,
    train_batch_size=8,
    eval_batch_size=13,
    save_checkpoints_steps=2,
    num_train_steps=4,
    num_warmup_steps=1,
    max_seq_length=48,
    max_predictions_per_seq=6,
)
# Documents are short: a row holds about three examples, three rows eight.
LINES = ["the fox jumped over a dog .", "a film is not bad , the fox", ""] * 15


@pytest.fixture
def run(config, vocab_file, tmp_path):
    """Has no dropout, because packing changes its random numbers."""
    bert_config = replace(
        config,
        num_hidden_layers=1,
        max_position_embeddings=48,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )

    def run(dynamic=False, **changes):
        file = tmp_path / f"dynamic-{dynamic}.tfrecord"
        if not file.exists():
            create_pretraining_data(
                LINES,
                [file],
                BertTokenizer(vocab_file),
                PretrainingDataConfig(
                    max_seq_length=48,
                    max_predictions_per_seq=6,
                    dupe_factor=1,
                    dynamic_masking=dynamic,
                ),
            )
        output_dir = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        pretrain(
            bert_config,
            [str(file)],
            output_dir,
            eval_files=[str(file)],
            vocab_file=vocab_file,
            config=replace(CONFIG, **changes),
        )
        with open(output_dir / "history.csv") as lines:
            history = list(csv.DictReader(lines))
        weights = output_dir / "checkpoints/step-00000004/model.safetensors"
        return history, load_file(weights)

    return run


def _assert_equal(packed, plain):
    history, weights = packed
    expected_history, expected_weights = plain
    assert len(history) == len(expected_history) == 4
    for row, expected in zip(history, expected_history, strict=True):
        assert row.keys() == expected.keys()
        for name in row:
            if "loss" in name or "accuracy" in name:
                assert bool(row[name]) == bool(expected[name])
                assert float(row[name] or 0) == pytest.approx(
                    float(expected[name] or 0), abs=1e-5
                ), name
    assert weights.keys() == expected_weights.keys()
    for path, weight in expected_weights.items():
        np.testing.assert_allclose(
            weights[path], weight, atol=1e-5, rtol=0, err_msg=path
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"dynamic": True, "next_sentence": False}], ids=str
)
def test_packed_equals_plain(run, changes):
    _assert_equal(run(pack_sequences=True, **changes), run(**changes))


@pytest.mark.slow  # traces two replicas twice
def test_a_batch_may_have_fewer_rows_than_parts(run, mirrored, monkeypatch):
    """Splits about three rows into four parts, on one device and on two."""
    plain = run()
    split = {"pack_sequences": True, "gradient_accumulation_steps": 4}
    _assert_equal(run(**split), plain)
    monkeypatch.setattr(pretraining, "get_strategy", lambda config: mirrored)
    _assert_equal(run(**split), plain)


def test_a_tpu_is_refused(run):
    with pytest.raises(ValueError, match="shapes, which a TPU cannot run"):
        run(pack_sequences=True, distribution_strategy="tpu")
