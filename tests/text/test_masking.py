import numpy as np
import pytest
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer

ROWS, S, P = 400, 37, 5


@pytest.fixture
def tokenizer(vocab_file):
    return BertTokenizer(vocab_file)


@pytest.fixture
def batch():
    """Rows of 5 to 37 tokens: [CLS] words [SEP] words [SEP] padding."""
    random = np.random.default_rng(5)
    ids = random.integers(5, 31, (ROWS, S))
    lengths = random.integers(5, S + 1, ROWS)
    ids[:, 0] = 2
    ids[np.arange(ROWS), lengths // 2] = 3
    ids[np.arange(ROWS), lengths - 1] = 3
    mask = np.arange(S) < lengths[:, None]
    return {
        "input_ids": tf.constant(ids * mask, tf.int32),
        "input_mask": tf.constant(mask, tf.int32),
    }


def _seeds(*seed, rows=ROWS):
    return tf.constant([[*seed, row] for row in range(rows)], tf.int64)


def _numpy(features):
    return {name: value.numpy() for name, value in features.items()}


def test_number_and_positions_of_predictions(tokenizer, batch):
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P)
    before = batch["input_ids"].numpy()
    out = _numpy(mask(batch, _seeds(1, 2)))
    lengths = batch["input_mask"].numpy().sum(1)
    expected = [min(P, max(1, round(int(n) * 0.15))) for n in lengths]
    assert out["masked_lm_weights"].sum(1).tolist() == expected
    for row in range(ROWS):
        n = expected[row]
        positions = out["masked_lm_positions"][row]
        assert sorted(set(positions[:n])) == positions[:n].tolist()
        assert not positions[n:].any()
        ids = out["masked_lm_ids"][row]
        assert ids[:n].tolist() == before[row, positions[:n]].tolist()
        assert not ids[n:].any()
        assert not set(ids[:n]) & {0, 2, 3}
        untouched = np.setdiff1d(np.arange(S), positions[:n])
        np.testing.assert_array_equal(
            out["input_ids"][row, untouched], before[row, untouched]
        )


@pytest.mark.parametrize(
    ("rates", "shares"),
    [
        ({}, (0.8, 0.1, 0.1)),
        ({"mask_rate": 1.0, "random_rate": 0.0}, (1.0, 0.0, 0.0)),
        ({"mask_rate": 0.0, "random_rate": 0.8}, (0.0, 0.8, 0.2)),
    ],
)
def test_the_rates_of_replacements(tokenizer, batch, rates, shares):
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P, **rates)
    counts = np.zeros(3)
    for seed in range(10):
        out = _numpy(mask(batch, _seeds(seed)))
        chosen = out["masked_lm_weights"] > 0
        now = np.take_along_axis(
            out["input_ids"], out["masked_lm_positions"], 1
        )[chosen]
        ids = out["masked_lm_ids"][chosen]
        masked, same = now == 4, now == ids
        counts += [masked.sum(), (~masked & ~same).sum(), same.sum()]
    # About 15,000 draws; 1 in 31 random ids is [MASK], 1 in 31 the same.
    np.testing.assert_allclose(
        counts / counts.sum(),
        np.array(shares) + np.array([1, -2, 1]) / 31 * shares[1],
        atol=0.012,
    )


def test_all_tokens_are_equally_likely(tokenizer):
    full = {
        "input_ids": tf.constant([[2, *range(5, 15), 3]] * 500, tf.int32),
        "input_mask": tf.ones((500, 12), tf.int32),
    }
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P)
    positions = _numpy(mask(full, _seeds(0, rows=500)))["masked_lm_positions"]
    counts = np.bincount(positions[:, :2].ravel(), minlength=12)
    assert counts[[0, 11]].tolist() == [0, 0]
    # 1,000 choices among 10 places: 100 each, standard deviation 9.
    assert counts[1:11].min() > 60 and counts[1:11].max() < 140


def test_whole_words(tokenizer):
    # the jump ##s un ##aff ##able fox; 3 tokens are to be masked.
    row = [2, 5, 10, 11, 20, 21, 22, 9, 3] + [6] * 11
    full = {
        "input_ids": tf.constant([row] * 300, tf.int32),
        "input_mask": tf.ones((300, 20), tf.int32),
    }
    mask = MaskedLMMasker(
        tokenizer, max_predictions_per_seq=P, do_whole_word_mask=True
    )
    out = _numpy(mask(full, _seeds(3, rows=300)))
    assert (out["masked_lm_weights"].sum(1) == 3).all()
    seen = set()
    for positions in out["masked_lm_positions"]:
        chosen = set(positions[:3])
        for word in ({2, 3}, {4, 5, 6}):
            assert not chosen & word or word <= chosen
            if word <= chosen:
                seen.add(min(word))
    assert seen == {2, 4}
    # Each piece is replaced by itself, so a word may keep some pieces.
    three = [{4, 5, 6} <= set(p[:3]) for p in out["masked_lm_positions"]]
    num_masked = (out["input_ids"][three, 4:7] == 4).sum(1)
    assert {1, 2, 3} <= set(num_masked)


def test_a_word_does_not_cross_a_special_token(tokenizer):
    # [CLS] ##s un ##aff [SEP] ##able fox [SEP]: 1 of 8 tokens is to be masked,
    # so "un ##aff" is too long; each other piece is a word.
    full = {
        "input_ids": tf.constant([[2, 11, 20, 21, 3, 22, 9, 3]] * 100),
        "input_mask": tf.ones((100, 8), tf.int32),
    }
    mask = MaskedLMMasker(tokenizer, do_whole_word_mask=True)
    out = _numpy(mask(full, _seeds(1, rows=100)))
    assert out["masked_lm_weights"].shape == (100, 20)  # more than S
    assert (out["masked_lm_weights"].sum(1) == 1).all()
    assert set(out["masked_lm_positions"][:, 0]) == {1, 5, 6}


@pytest.mark.parametrize("kwargs", [{}, {"do_whole_word_mask": True}])
def test_a_rows_mask_does_not_depend_on_its_batch(tokenizer, batch, kwargs):
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P, **kwargs)
    seeds = _seeds(7, 1)
    whole = _numpy(mask(batch, seeds))
    rows = [5, 300, 17]
    some = mask({n: tf.gather(x, rows) for n, x in batch.items()},
                tf.gather(seeds, rows))  # fmt: skip
    for name, value in some.items():
        np.testing.assert_array_equal(value, whole[name][rows])
    padded = {n: tf.pad(x, [[0, 0], [0, 9]]) for n, x in batch.items()}
    for name, value in mask(padded, seeds).items():
        value = value[:, : whole[name].shape[1]]
        np.testing.assert_array_equal(value, whole[name])


def test_every_text_needs_seeds(tokenizer, batch):
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P)
    with pytest.raises(InputError, match="There are 1 rows of seeds and"):
        mask(batch, _seeds(7, 1)[:1])
    expected = _numpy(mask(batch, _seeds(7, 1)))
    found = _numpy(mask(batch, _seeds(7, 1).numpy()))
    np.testing.assert_equal(found, expected)


@pytest.mark.slow
def test_a_seed_draws_the_same_masks_in_graphs(tokenizer, batch, tmp_path):
    mask = MaskedLMMasker(tokenizer, max_predictions_per_seq=P)
    seeds = _seeds(9, 8)
    expected = _numpy(mask(batch, seeds))
    dataset = tf.data.Dataset.from_tensors(batch).map(lambda b: mask(b, seeds))

    module = tf.Module()
    module.mask = mask
    features = tf.TensorSpec([None, None], tf.int32)
    module.serve = tf.function(
        mask,
        input_signature=[
            {"input_ids": features, "input_mask": features},
            tf.TensorSpec([None, 3], tf.int64),
        ],
    )
    tf.saved_model.save(module, str(tmp_path / "saved"))
    served = tf.saved_model.load(str(tmp_path / "saved")).serve(batch, seeds)

    for masked in (next(iter(dataset)), served):
        for name, value in masked.items():
            np.testing.assert_array_equal(value, expected[name])
    other = mask(batch, _seeds(9, 9))["masked_lm_positions"].numpy()
    assert (other != expected["masked_lm_positions"]).any()


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({"mask_rate": 0.9, "random_rate": 0.2}, "the paper uses 0.8 and 0.1"),
        ({"random_rate": -0.1}, "random_rate is -0.1, but must be at least 0"),
        ({"masked_lm_prob": 0.0}, "masked_lm_prob is 0.0, .* be above 0"),
        ({"masked_lm_prob": 1.0}, "masked_lm_prob is 1.0, .* be below 1"),
    ],
)
def test_wrong_rates_are_refused(tokenizer, rates, message):
    with pytest.raises(ValueError, match=message):
        MaskedLMMasker(tokenizer, **rates)
