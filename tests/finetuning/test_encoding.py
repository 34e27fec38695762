"""The files of encoded rows: made once, found again, and checked."""

import dataclasses
import functools
import json
import logging
import sys
import threading
import types

import numpy as np
import pytest
import tensorflow as tf
from kind_examples import make_kind, make_spec
from small_family import write_family

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.errors import InputError
from keras_bert.finetuning.batches import training_batches
from keras_bert.finetuning.encoding import (
    encode_rows,
    read_arrays,
    write_arrays,
)
from keras_bert.kinds import fields
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.kind import KINDS
from keras_bert.kinds.spec import build_kind

ROWS = [
    {"text": f"{i} the " * (i % 4) + f"fox {i}", "label": str(i % 2)}
    for i in range(23)
]
# Endings of 2 to 55 tokens: most examples alone would not share rows.
CHOICES = [
    {"context": "fox", "endings": ["dog " * n, "a"], "label": str(i % 2)}
    for i, n in enumerate([0, 9, 55, 8, 55, 52, 1, 50, 55, 7])
]
QUESTIONS = [
    {
        "question": "fox ?",
        "context": "the lazy fox " * n + "jumped .",
        "label": [{"text": "fox", "answer_start": 9}],
    }
    for n in (1, 9, 2, 17, 4)
]
WORDS = [
    {"words": ["fox", "jumped"] * n, "label": ["O", "B-X"] * n}
    for n in (3, 1, 9, 2, 5)
]


@pytest.fixture
def kind(vocab_file, config):
    return make_kind("classification", vocab_file, config, labels=("0", "1"))


@pytest.fixture
def three_rows_a_chunk(monkeypatch):
    monkeypatch.setattr(fields, "_ROWS_PER_CHUNK", 3)


def _encode_counting(kind, rows, folder, monkeypatch):
    """Returns the examples and how many chunks were encoded."""
    encoded = []
    as_before = Classification.encode

    @functools.wraps(as_before)
    def encode(self, rows, *, labeled):
        encoded.append(len(rows))
        return as_before(self, rows, labeled=labeled)

    with monkeypatch.context() as patch:
        patch.setattr(Classification, "encode", encode)
        examples = encode_rows(kind, rows, folder)
    return examples, len(encoded)


def _batches(examples):
    dataset = training_batches(examples, batch_size=4, num_epochs=4, seed=3)
    return [
        [x.numpy().tolist() for x in tf.nest.flatten(batch)]
        for batch in dataset.take(7)
    ]


@pytest.mark.parametrize(
    ("name", "rows", "settings"),
    [
        ("classification", ROWS, {"labels": ("0", "1")}),
        *(
            pytest.param(
                "multiple_choice",
                CHOICES[first:],
                {"max_seq_length": length},
                marks=pytest.mark.slow,
            )
            for first, length in ((0, 70), (2, 270))
        ),
        ("span", QUESTIONS, {"max_seq_length": 16, "max_query_length": 3}),
        ("token_classification", WORDS, {"labels": ("O", "B-X")}),
    ],
)
def test_the_batches_do_not_depend_on_the_chunks(
    name, rows, settings, vocab_file, config, tmp_path, monkeypatch
):
    config = dataclasses.replace(config, max_position_embeddings=270)
    kind = make_kind(name, vocab_file, config, **settings)
    whole = encode_rows(kind, rows, tmp_path / "whole")
    monkeypatch.setattr(fields, "_ROWS_PER_CHUNK", 2)
    parts = encode_rows(kind, iter(rows), tmp_path / "parts")
    assert len(list((tmp_path / "parts").iterdir())) == -(-len(rows) // 2)
    assert parts.rows[-1] + 1 == len(rows)
    assert _batches(parts) == _batches(whole)
    in_memory = kind.encode(rows, labeled=True)
    assert _batches(whole) == _batches(in_memory)
    np.testing.assert_array_equal(parts.rows, in_memory.rows)
    np.testing.assert_array_equal(parts.lengths, in_memory.lengths)


@pytest.mark.slow
def test_a_chunk_is_encoded_once_for_each_text_and_setting(
    kind, config, vocab_file, three_rows_a_chunk, tmp_path, monkeypatch
):
    def num_encoded(kind, rows):
        return _encode_counting(kind, rows, tmp_path / "c", monkeypatch)[1]

    assert num_encoded(kind, ROWS) == 8
    assert num_encoded(kind, (dict(row) for row in ROWS)) == 0
    changed = [*ROWS[:4], {**ROWS[4], "text": "lazy"}, *ROWS[5:]]
    assert num_encoded(kind, changed) == 1
    assert num_encoded(kind, changed[:8]) == 1
    longer = make_kind(
        "classification",
        vocab_file,
        config,
        labels=("0", "1"),
        max_seq_length=13,
    )
    assert num_encoded(longer, ROWS) == 8
    vocab_file.write_text(vocab_file.read_text().replace("lazy", "crazy"))
    other = make_kind("classification", vocab_file, config, labels=("0", "1"))
    assert num_encoded(other, ROWS) == 8


@pytest.mark.slow
def test_rows_are_encoded_again_for_other_steps_with_the_same_pieces(
    config, tmp_path, monkeypatch
):
    folder = write_family(tmp_path / "roberta", "roberta")
    file = folder / "tokenizer.json"
    before, values = load_tokenizer(folder), json.loads(file.read_text())
    assert values["normalizer"] is None
    values["normalizer"] = {"type": "NFC"}
    file.write_text(json.dumps(values))
    other = load_tokenizer(folder)
    assert other.vocab == before.vocab and other.settings == before.settings
    spec = make_spec("classification", labels=("0", "1"))
    size = dataclasses.replace(config, vocab_size=before.vocab_size)
    kinds = [build_kind(spec, tokenizer, size) for tokenizer in (before, other)]
    rows = [{**row, "text": row["text"] + " e\u0301"} for row in ROWS]
    made = [
        _encode_counting(kind, rows, tmp_path / "c", monkeypatch)
        for kind in (*kinds, kinds[0])
    ]
    assert [count for _, count in made] == [1, 1, 0]
    assert _batches(made[1][0]) == _batches(kinds[1].encode(rows, labeled=True))


def test_a_killed_run_continues_with_the_chunks_that_it_finished(
    kind, three_rows_a_chunk, tmp_path, monkeypatch
):
    def killed():
        yield from ROWS[:16]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_rows(kind, killed(), tmp_path / "c")
    num_files = len(list((tmp_path / "c").iterdir()))
    assert num_files >= 3
    examples, count = _encode_counting(kind, ROWS, tmp_path / "c", monkeypatch)
    assert count == 8 - num_files
    assert _batches(examples) == _batches(
        encode_rows(kind, ROWS, tmp_path / "whole")
    )


@pytest.mark.parametrize("damage", ["bit", "header", "end", "empty"])
def test_a_damaged_file_is_made_again(
    damage, kind, tmp_path, caplog, monkeypatch
):
    expected = _batches(encode_rows(kind, ROWS, tmp_path / "c"))
    (file,) = (tmp_path / "c").iterdir()
    content = bytearray(file.read_bytes())
    if damage == "bit":
        content[-100] ^= 1
    elif damage == "header":
        place = content.index(b'"I32"')
        content[place : place + 5] = b'"U32"'
    else:
        del content[-1 if damage == "end" else 0 :]
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING, "absl"):
        examples, count = _encode_counting(
            kind, ROWS, tmp_path / "c", monkeypatch
        )
    assert count == 1
    assert f"{file} is damaged, so it is written again" in caplog.text
    assert _batches(examples) == expected


@pytest.mark.slow
def test_writers_of_the_same_file_do_not_disturb_each_other(kind, tmp_path):
    encode_rows(kind, ROWS, tmp_path / "whole")
    (file,) = (tmp_path / "whole").iterdir()
    arrays, path = read_arrays(file), tmp_path / "c" / "file"
    threads = [
        threading.Thread(
            target=lambda: [write_arrays(path, arrays) for _ in range(20)]
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not path.exists() or read_arrays(path)
    assert [file.name for file in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("name", "rows", "change", "message"),
    [
        ("classification", ROWS, {"label": "2"}, "Label '2' of example 8 is"),
        ("classification", ROWS, {"text": 5}, "The text of example 8 is 5"),
        ("regression", ROWS, {"label": "x"}, "Label 'x' of example 8 is not"),
        ("multilabel", ROWS, {"label": 7}, "The label of example 8 is 7"),
        ("span", QUESTIONS * 2, {"label": 7}, "The label of question 8 is 7"),
        ("token_classification", WORDS * 2, {"words": 7}, "of example 8; give"),
        ("multiple_choice", CHOICES, {"label": 7}, "Label 7 of example 8 is"),
    ],
)
def test_a_wrong_row_has_its_number_in_the_data(
    name,
    rows,
    change,
    message,
    vocab_file,
    config,
    three_rows_a_chunk,
    tmp_path,
):
    labels = {
        "classification": ("0", "1"),
        "multilabel": ("0", "1"),
        "token_classification": ("O", "B-X"),
    }.get(name, ())
    if name == "multilabel":
        rows = [{**row, "label": [row["label"]]} for row in rows]
    settings = {"max_query_length": 3} if name == "span" else {}
    kind = make_kind(name, vocab_file, config, labels=labels, **settings)
    rows = [*rows[:7], {**rows[7], **change}, *rows[8:]]
    with pytest.raises(InputError, match=message):
        encode_rows(kind, rows, tmp_path / "c")


def test_the_numbers_of_endings_must_agree_between_chunks(
    vocab_file, config, three_rows_a_chunk, tmp_path
):
    kind = make_kind("multiple_choice", vocab_file, config)
    more = [{**row, "endings": [*row["endings"], "b"]} for row in CHOICES[6:]]
    message = "From example 7 on, the choices are 3, but 2 before"
    with pytest.raises(InputError, match=message):
        encode_rows(kind, CHOICES[:6] + more, tmp_path / "c")


# What `Own.encode` multiplies by, and its definition.
_FACTORS = {
    "a number": ("{}", ""),
    "an attribute of the class": ("self.FACTOR", "    FACTOR = {}"),
    "a function": ("factor()", "def factor(): return {}"),
    "an imported function": ("rules.factor()", "import rules"),
}


@pytest.mark.parametrize("way", _FACTORS)
def test_a_change_of_an_own_kind_is_noticed(
    way, vocab_file, config, tmp_path, monkeypatch
):
    # Forgets the kind and the module at the end.
    monkeypatch.setitem(KINDS, "own_regression", Classification)
    rules = types.ModuleType("rules")
    monkeypatch.setitem(sys.modules, "rules", rules)
    value, definition = _FACTORS[way]
    code = f"""
from keras_bert.kinds.regression import Regression
class Own(Regression):
    name = "own_regression"
    def encode(self, rows, *, labeled):
        x = {value}
        rows = [{{**row, "label": x * float(row["label"])}} for row in rows]
        return super().encode(rows, labeled=labeled)
{definition}
"""
    for factor in ("1", "10"):
        exec(code.replace("{}", factor), {"__name__": "notebook"})
        rules.factor = lambda factor=factor: int(factor)
        kind = make_kind(
            "own_regression", vocab_file, config, text_fields=("text",)
        )
        examples = encode_rows(kind, ROWS, tmp_path / "c")
        assert float(examples.labels["logits"][1]) == float(factor)
    # No later run could use a file of such a kind.
    assert not list((tmp_path / "c").iterdir())
