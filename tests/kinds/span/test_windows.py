import functools
import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS
from small_family import write_family
from span_examples import span_kind

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.errors import InputError
from keras_bert.kinds.settings import SpanSettings
from keras_bert.kinds.span.windows import cut_windows


def _windows(vocab_file, lower_case=True, **sizes):
    """Returns a function of questions and contexts."""
    kind = span_kind(
        vocab_file,
        do_lower_case=lower_case,
        **{"max_seq_length": 11, "doc_stride": 3, "max_query_length": 4}
        | sizes,
    )
    return functools.partial(
        cut_windows, tokenizer=kind.tokenizer, settings=kind.spec.settings
    )


def _lists(windows):
    rows, truncated, *ragged = windows
    dense = [x.numpy().tolist() for x in (rows, truncated)]
    return [*dense, *(x.to_list() for x in ragged)]


@pytest.mark.slow
def test_a_token_does_not_begin_with_a_space(tmp_path):
    """Those of ModernBERT do in its tokenizer; their words are their own."""
    folder = write_family(tmp_path / "x", "modernbert", num_hidden_layers=1)
    tokenizer = load_tokenizer(folder)
    settings = SpanSettings(max_seq_length=40, doc_stride=9, max_query_length=4)
    contexts = ["the good  dog", "a\u200bfox the"]
    windows = cut_windows(
        ["the", "a"], contexts, tokenizer=tokenizer, settings=settings
    )
    for text, starts, ends, words in zip(
        contexts,
        windows.starts.to_list(),
        windows.ends.to_list(),
        windows.word_starts.to_list(),
        strict=True,
    ):
        places = [(i, j) for i, j in zip(starts, ends, strict=True) if i >= 0]
        pieces = [text[i:j] for i, j in places]
        assert pieces[-1] and pieces == [x.lstrip() for x in pieces]
        assert words == starts


def test_the_fields_of_windows(vocab_file):
    """9 tokens in windows of 7; 4 tokens with a question that is cut."""
    windows = _windows(vocab_file)(
        ["bad", "the quick brown fox jumped"],
        ["a lazy dog is not a fox . !", "\nA  dog jumped"],
    )
    fields = dict(zip(windows._fields, _lists(windows), strict=True))

    def of_context(name):
        return [[x for x in row if x != -1] for row in fields[name]]

    assert fields["rows"] == [0, 0, 1]
    assert fields["truncated"] == [False, True]
    assert fields["input_ids"] == [
        [2, 26, 3, 6, 14, 15, 24, 27, 6, 9, 3],
        [2, 26, 3, 24, 27, 6, 9, 16, 18, 3],
        [2, 5, 7, 8, 9, 3, 6, 15, 10, 12, 3],
    ]
    assert fields["segment_ids"] == [
        [0] * 3 + [1] * 8,
        [0] * 3 + [1] * 7,
        [0] * 6 + [1] * 5,
    ]
    assert fields["context_tokens"] == [
        [-1, -1, -1, 0, 1, 2, 3, 4, 5, 6, -1],
        [-1, -1, -1, 3, 4, 5, 6, 7, 8, -1],
        [-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1],
    ]
    assert fields["is_max_context"] == [
        [-1, -1, -1, 1, 1, 1, 1, 1, 0, 0, -1],
        [-1, -1, -1, 0, 0, 1, 1, 1, 1, -1],
        [-1, -1, -1, -1, -1, -1, 1, 1, 1, 1, -1],
    ]
    assert of_context("starts") == [
        [0, 2, 7, 11, 14, 18, 20],
        [11, 14, 18, 20, 24, 26],
        [1, 4, 8, 12],
    ]
    assert of_context("ends") == [
        [1, 6, 10, 13, 17, 19, 23],
        [13, 17, 19, 23, 25, 27],
        [2, 7, 12, 14],
    ]
    assert of_context("word_starts")[2] == [1, 4, 8, 8]
    assert of_context("word_ends")[2] == [2, 7, 14, 14]
    for name in fields:
        if name not in ("rows", "truncated", "input_ids", "segment_ids"):
            rows = zip(fields[name], fields["context_tokens"], strict=True)
            for values, tokens in rows:
                assert [x == -1 for x in values] == [x == -1 for x in tokens]
    none = tf.constant([], tf.string)
    assert _windows(vocab_file)(none, none).input_ids.shape[0] == 0


def test_drifts_count_what_cleaning_adds_and_removes(tmp_path):
    """Cleaning makes three characters of a syllable, and none of a mark."""
    file = tmp_path / "vocab.txt"
    pieces = "ᄒ ##ᅡ ##ᆫ e fox".split()
    file.write_text("\n".join([*SPECIAL_TOKENS, *pieces]), encoding="utf-8")
    context = "fox 한 \t e\u0301\u200b fox\u00a0fox\u202ffox"
    expected = {  # for the words fox, 한, é, fox fox and fox
        True: ([0, 0, 0, 0, 2, 0, 0, -1], [0, 2, 2, 2, 0, -1, -1, -1]),
        # Cased text keeps the accent.
        False: ([0, 0, 0, -1, -1, -2], [0, 0, -1, -2, -2, -2]),
    }
    for lower_case, drifts in expected.items():
        windows = _windows(file, lower_case, max_seq_length=30)(
            ["fox", "e"], ["fox fox", context]
        )
        for field, values in zip(
            (windows.word_start_drifts, windows.word_end_drifts),
            drifts,
            strict=True,
        ):
            assert field[1, 3:-1].numpy().tolist() == values
        words = zip(
            windows.word_starts[1, 3:-1].numpy(),
            windows.word_ends[1, 3:-1].numpy(),
            strict=True,
        )
        assert [context[a:b] for a, b in words][-3:] == [
            "fox\u00a0fox",
            "fox\u00a0fox",
            "fox",
        ]


@pytest.mark.parametrize(
    ("max_seq_length", "doc_stride"),
    [(9, 1), (9, 2), (38, 5), (38, 300), (227, 128)],
)
def test_the_same_as_windows_cut_one_by_one(
    vocab_file, max_seq_length, doc_stride
):
    random = np.random.default_rng(6)
    lengths = random.integers(0, 2 * max_seq_length, 10)
    lengths[3] = 0
    # The last window has 100 tokens less than the others, which have 222: a
    # token with one more token around it scores the same, but for rounding.
    lengths[2] = min(lengths[2], 250) if doc_stride < 128 else 250
    contexts = ["fox " * n for n in lengths]
    questions = ["", "the", "the dog", "the dog is", "the dog is bad"]
    questions = [questions[i % 5] for i in range(len(contexts))]
    windows = _windows(
        vocab_file, max_seq_length=max_seq_length, doc_stride=doc_stride
    )(questions, contexts)
    rows, tokens, is_max = [], [], []
    for row, (question, length) in enumerate(
        zip(questions, lengths, strict=True)
    ):
        room = max_seq_length - 3 - len(question.split())
        spans, start = [], 0
        while True:
            spans.append((start, min(length - start, room)))
            if start + spans[-1][1] == length:
                break
            start += min(spans[-1][1], doc_stride)
        for number, (start, size) in enumerate(spans):
            rows.append(row)
            tokens.append(list(range(start, start + size)))
            is_max.append(
                [int(_best_span(spans, t) == number) for t in tokens[-1]]
            )
    assert windows.rows.numpy().tolist() == rows
    for field, expected in (
        (windows.context_tokens, tokens),
        (windows.is_max_context, is_max),
    ):
        found = [[x for x in row if x != -1] for row in field.to_list()]
        assert found == expected


def _best_span(spans, token):
    scores = []
    for start, size in spans:
        shorter = min(token - start, start + size - 1 - token)
        scores.append(shorter + 0.01 * size if shorter >= 0 else -1.0)
    return scores.index(max(scores))


@pytest.mark.parametrize("name", ["squad_v1", "squad_v2"])
def test_windows_of_the_reference(shared, name):
    folder = shared / "golden" / name
    settings = json.loads((folder / "settings.json").read_text())
    articles = json.loads((folder / "input.json").read_text())["data"]
    expected = np.load(folder / "features_and_logits.npz")
    sizes = ("max_seq_length", "doc_stride", "max_query_length")
    windows = _windows(
        shared / "data/vocab/bert-base-uncased.vocab.txt",
        **{size: settings[size] for size in sizes},
    )(
        *zip(
            *(
                (question["question"], paragraph["context"])
                for article in articles
                for paragraph in article["paragraphs"]
                for question in paragraph["qas"]
            ),
            strict=True,
        )
    )
    np.testing.assert_array_equal(windows.rows, expected["example_index"])
    for field in ("input_ids", "segment_ids"):
        np.testing.assert_array_equal(
            getattr(windows, field).to_tensor(
                0, shape=[None, settings["max_seq_length"]]
            ),
            expected[field],
        )


def test_a_window_without_room_for_the_context_is_refused(vocab_file):
    message = "max_query_length 8 and .* no room .* 11"
    with pytest.raises(InputError, match=message):
        _windows(vocab_file, max_query_length=8)
    _windows(vocab_file, max_query_length=7)
