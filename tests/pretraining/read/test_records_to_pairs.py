import random
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from conftest import write_vocab
from read_records import read_records

from keras_bert.pretraining.read.files_to_records import PretrainingRecords
from keras_bert.pretraining.read.records_to_pairs import (
    InstanceDrawer,
    _gathered,
)
from keras_bert.pretraining.write.arrays_to_records import serialize_examples
from keras_bert.pretraining.write.documents_to_pairs import (
    Corpus,
    draw_rows,
    stretch_features,
)
from keras_bert.pretraining.write.run import (
    PretrainingDataConfig,
    create_pretraining_data,
)
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer

S, P = 40, 5


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return BertTokenizer(write_vocab(tmp_path_factory.mktemp("vocab")))


def _drawer(tokenizer, max_seq_length=S, random_seed=1, **kwargs):
    masker = MaskedLMMasker(tokenizer, max_predictions_per_seq=P, **kwargs)
    return InstanceDrawer(
        tokenizer,
        masker,
        max_seq_length=max_seq_length,
        random_seed=random_seed,
    )


@pytest.fixture
def corpus():
    """Each id is its position plus 5, so a stretch shows its origin."""
    generator = np.random.default_rng(1)
    document_ends = np.cumsum([0, *generator.integers(1, 25, 40)])
    lengths = generator.integers(1, 20, document_ends[-1])
    sentence_ends = np.cumsum([0, *lengths])
    return Corpus(
        np.arange(sentence_ends[-1]) + 5, sentence_ends, document_ends
    )


def _rows(corpus, seed=3, **kwargs):
    config = PretrainingDataConfig(
        **{"max_seq_length": S, "dupe_factor": 1} | kwargs
    )
    return draw_rows(corpus, config, random.Random(seed))


def _stretches(corpus, **kwargs):
    return _rows(corpus, dynamic_masking=True, **kwargs)


class _NoMasks:
    """Masks nothing, so that a test sees all ids."""

    def __call__(self, features, seeds):
        return features


def _pairs(tokenizer, serialized, epoch, max_seq_length=S):
    drawer = InstanceDrawer(
        tokenizer, _NoMasks(), max_seq_length=max_seq_length
    )
    number = len(serialized)
    features = drawer(
        tf.constant(serialized),
        tf.fill([number], tf.constant(epoch, tf.int64)),
        tf.range(number, dtype=tf.int64),
    )
    return {name: value.numpy() for name, value in features.items()}


def test_stretches_cut_up_the_corpus(corpus):
    stretches = _stretches(corpus, dupe_factor=2)
    begins, ends = stretches[:, 0], stretches[:, 1]
    half = int(np.flatnonzero(begins == 0)[1])
    assert (begins[1:half] == ends[: half - 1]).all()
    assert ends[half - 1] == ends[-1] == len(corpus.sentence_ends) - 1
    documents = np.searchsorted(corpus.document_ends, stretches[:, :4], "right")
    assert (documents[:, 0] == documents[:, 1] - (
        np.isin(ends, corpus.document_ends))).all()  # fmt: skip
    assert (documents[:, 0] != documents[:, 2]).all()


def test_all_stretches_of_a_document_and_pass_have_one_target_length(corpus):
    begins, *_, targets = _stretches(corpus, short_seq_prob=0.5).T
    documents = np.searchsorted(corpus.document_ends, begins, "right")
    assert len(set(targets)) > 10 and targets.max() == S - 3
    assert len(set(zip(documents, targets, strict=True))) == 40


def test_pairs_are_of_the_stretch_or_random(corpus, tokenizer):
    stretches = _stretches(corpus)
    serialized = serialize_examples(stretch_features(corpus, stretches))
    ends = corpus.sentence_ends
    num_random = num_whole = 0
    for epoch in range(3):
        pairs = _pairs(tokenizer, serialized, epoch)
        for stretch, ids, mask, segments, label in zip(
            stretches,
            pairs["input_ids"],
            pairs["input_mask"],
            pairs["segment_ids"],
            pairs["next_sentence_labels"][:, 0],
            strict=True,
        ):
            begin, end, random_begin, random_end, target = stretch
            length = mask.sum()
            first_end = length - segments.sum() - 1
            assert mask[:length].all() and not ids[length:].any()
            assert segments[first_end + 1 : length].all()
            assert (ids[0], ids[first_end], ids[length - 1]) == (2, 3, 3)
            first = ids[1:first_end] - 5
            second = ids[first_end + 1 : length - 1] - 5
            for places in (first, second):
                assert len(places) and (np.diff(places) == 1).all()
            assert ends[begin] <= first[0] and first[-1] < ends[end]
            low, high = (begin, end)
            if label:
                low, high = random_begin, random_end
                num_random += 1
            assert ends[low] <= second[0] and second[-1] < ends[high]
            if length < S:  # nothing was cut off
                num_whole += 1
                assert first[0] == ends[begin]
                assert first[-1] + 1 in ends[begin + 1 : end + 1]
                if label:
                    assert second[0] == ends[random_begin]
                    # As many as needed, or all there are.
                    last = np.flatnonzero(ends == second[-1] + 1)[0]
                    before = ends[last - 1] - ends[random_begin]
                    assert last == random_begin + 1 or (
                        len(first) + before < target
                    )
                    assert last == random_end or (
                        len(first) + len(second) >= target
                    )
                else:
                    assert second[0] == first[-1] + 1
                    assert second[-1] + 1 == ends[end]
            if end == begin + 1:
                assert label
    assert num_whole > 50
    assert 0.45 < num_random / 3 / len(stretches) < 0.75


def test_random_sentences_are_gathered_up_to_the_target():
    lengths = tf.constant([[3, 4, 2, 0]] * 6)
    found = _gathered(lengths, tf.constant([-5, 1, 3, 4, 7, 99]))
    assert found.numpy().tolist() == [3, 3, 3, 7, 7, 9]


def test_lengths_are_those_of_static_pairs(corpus, tokenizer):
    """The same rules, so the same shares of random, cut and first tokens."""
    stretches = _stretches(corpus, dupe_factor=30, short_seq_prob=0.0)
    serialized = serialize_examples(stretch_features(corpus, stretches))
    drawn = _pairs(tokenizer, serialized, 0)
    pairs = _rows(corpus, seed=1, short_seq_prob=0.0, dupe_factor=30)
    lengths = drawn["input_mask"].sum(1) - 3
    static = (pairs[:, [1, 3]] - pairs[:, [0, 2]]).sum(1)
    assert abs(lengths.mean() / static.mean() - 1) < 0.05
    assert abs((lengths == S - 3).mean() - (static == S - 3).mean()) < 0.05


def test_draws_depend_only_on_seed_epoch_and_record(corpus, tokenizer):
    serialized = serialize_examples(
        stretch_features(corpus, _stretches(corpus))
    )[:50]

    def draw(seed, epochs, records):
        drawn = _drawer(tokenizer, random_seed=seed)(
            tf.gather(serialized, records),
            tf.constant(epochs, tf.int64),
            tf.constant(records, tf.int64),
        )
        return {name: value.numpy() for name, value in drawn.items()}

    whole = draw(1, [2] * 50, [*range(50)])
    some = draw(1, [7, 2, 2], [3, 40, 3])
    for name, value in some.items():
        np.testing.assert_array_equal(value[1:], whole[name][[40, 3]])
    positions = "masked_lm_positions"
    assert (some[positions][0] != some[positions][2]).any()
    other = draw(8, [2] * 50, [*range(50)])
    for name in (positions, "input_ids", "next_sentence_labels"):
        assert (other[name] != whole[name]).any()


@pytest.fixture(scope="module")
def files(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    words = "the a quick brown fox over lazy dog film good bad movie".split()
    generator = np.random.default_rng(1)
    lines = [
        " ".join(generator.choice(words, n)) if n else ""
        for n in generator.integers(0, 13, 400)
    ]
    config = PretrainingDataConfig(
        max_seq_length=S, dynamic_masking=True, dupe_factor=1
    )
    names = [str(folder / name) for name in "ab"]
    counts = create_pretraining_data(lines, names, tokenizer, config)
    static = str(folder / "static")
    create_pretraining_data(
        lines,
        [static],
        tokenizer,
        replace(config, dynamic_masking=False, max_predictions_per_seq=P),
    )
    return names, static, counts["instances"]


def _batches(files, drawer, count=None, **kwargs):
    dataset = read_records(
        files,
        **{"max_seq_length": S} | kwargs,
        max_predictions_per_seq=P,
        batch_size=8,
        drawer=drawer,
    )
    return [
        {name: value.numpy() for name, value in batch.items()}
        for batch in (dataset.take(count) if count else dataset)
    ]


@pytest.mark.slow
def test_each_epoch_draws_other_pairs_and_masks(files, tokenizer):
    names, static, num_records = files
    drawer = _drawer(tokenizer, do_whole_word_mask=True)
    once = _batches(names, drawer)
    assert sum(len(batch["input_ids"]) for batch in once) == num_records
    expected = _batches([static], None)[0]
    for batch in once:
        for name, value in batch.items():
            assert value.shape[1:] == expected[name].shape[1:]
            assert value.dtype == expected[name].dtype

    epochs = 4
    count = num_records * epochs // 8
    shuffled = _batches(names, drawer, count, shuffle_seed=3)
    rows = {
        name: np.concatenate([batch[name] for batch in shuffled])
        for name in shuffled[0]
    }
    # Far more different rows than records, and the same ones in another run.
    different = {row.tobytes() for row in rows["input_ids"]}
    assert len(different) > 0.9 * num_records * epochs
    later = _batches(names, drawer, 5, shuffle_seed=3, first_batch=count - 5)
    for batch, same in zip(shuffled[-5:], later, strict=True):
        for name, value in batch.items():
            np.testing.assert_array_equal(value, same[name])


def test_another_length_than_that_of_the_records_is_warned_of(
    files, tokenizer, caplog
):
    names, _, _ = files
    sizes = {"max_predictions_per_seq": P, "drawer": _drawer(tokenizer)}
    PretrainingRecords(names, max_seq_length=S, **sizes)
    assert not caplog.messages
    PretrainingRecords(names, max_seq_length=64, **sizes)
    (message,) = caplog.messages
    assert "max_seq_length of 40, but are read with 64: longer" in message
    with pytest.raises(ValueError, match="max_seq_length is 4, .* least 5"):
        _drawer(tokenizer, max_seq_length=4)


def test_records_without_masks_need_a_drawer(files, tokenizer):
    names, static, _ = files
    with pytest.raises(ValueError, match="records without masks .* vocab_file"):
        _batches(names, None)
    with pytest.raises(ValueError, match="static has no int64_list target_"):
        _batches([*names, static], _drawer(tokenizer))
    for batch, same in zip(
        _batches([static], None), _batches([static], _drawer(tokenizer)),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(batch["input_ids"], same["input_ids"])
