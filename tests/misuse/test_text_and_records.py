import gzip
from pathlib import Path

import keras
import numpy as np
import pytest
from misuse_tables import Says, cases, check

import keras_bert
from keras_bert.io.input_files import expand_globs
from keras_bert.pretraining import TextSource

_UTF8 = Says("save it as UTF-8")
_JSON = '{"text": "the fox"}\n'


@cases(
    ("byte-order mark", lambda x: x.lines("a.txt", "\ufeffthe fox\n"),
     ["the fox"]),
    ("CRLF", lambda x: x.lines("a.txt", "the fox\r\n\r\na dog\r\n"),
     ["the fox", "a dog"]),
    ("UTF-16", lambda x: x.lines("a.txt", "the fox\n".encode("utf-16")), _UTF8),
    ("a zip file", lambda x: x.lines("a.txt", b"PK\3\4\x14\0\0\0"), _UTF8),
    ("records", lambda x: list(keras_bert.pretraining.TextSource(
        str(x.records)).lines()), _UTF8),
    ("gzip without .gz",
     lambda x: x.lines("a.txt", gzip.compress(b"the fox\n")), ["the fox"]),
    (".gz without gzip", lambda x: x.lines("a.txt.gz", "the fox\n"),
     Says("remove .gz from its name")),
    ("half of a .gz",
     lambda x: x.lines("a.txt.gz", gzip.compress(b"the fox\n" * 9)[:-9]),
     Says("is not a complete gzip file")),
    ("JSON lines as text", lambda x: x.lines("a.jsonl", _JSON),
     Says("set text_field")),
    ("compressed JSON lines as text", lambda x: x.lines(
        "a.jsonl.gz", gzip.compress(_JSON.encode())), Says("set text_field")),
    ("JSON lines under another name",
     lambda x: x.lines("a.json", _JSON), Says("set text_field")),
    ("a JSON list as text",
     lambda x: x.lines("a.json", f"[\n{_JSON}]"), Says("a.json contains JSON")),
    ("a text that begins with a bracket",
     lambda x: x.lines("a.txt", "[1] the fox\n{ a dog\n"),
     ["[1] the fox", "{ a dog"]),
    ("CSV as text", lambda x: x.lines("a.csv", "text,label\nthe fox,1\n"),
     Says("is a CSV file, whose columns would be read as text")),
    ("text as JSON lines",
     lambda x: x.lines("a.txt", "the fox\n", text_field="text"),
     Says("a.txt:1 is not JSON")),
    ("another field of JSON lines",
     lambda x: x.lines("a.jsonl", _JSON, text_field="txt"),
     Says("has no text under 'txt'")),
    ("a blank line and a mark in JSON lines",
     lambda x: x.lines("a.jsonl", f"\ufeff{_JSON}\n", text_field="text"),
     ["the fox"]),
    ("UTF-16 JSON lines", lambda x: x.lines(
        "a.jsonl", _JSON.encode("utf-16"), text_field="text"), _UTF8),
    ("brackets in a name", lambda x: x.lines("x[1].txt", "a\n"), ["a"]),
    ("a path", lambda x: list(keras_bert.pretraining.TextSource(
        x.file("a.txt", "a\n")).lines()), ["a", ""]),
    ("a list of names", lambda x: TextSource(["a.txt"]).units(),
     Says("in one comma-separated string")),
    ("a comma in a name", lambda x: x.lines("a,b.txt", "a\n"),
     Says("No file matches")),
    ("a comma at the end", lambda x: expand_globs(f"{x.vocab_file},"),
     Says("No file matches ''")),
    ("a file that is not there",
     lambda x: list(keras_bert.pretraining.TextSource("absent").lines()),
     Says("No file matches 'absent'")),
    ("a folder", lambda x: list(TextSource(x.folder).lines()),
     Says("is a folder; give the files in it")),
    ("nothing", lambda x: keras_bert.pretraining.TextSource(),
     Says("Give an input_file")),
    ("text_field and document_per_file", lambda x: TextSource(
        "a", text_field="text", document_per_file=True),
     Says("give one of the two")),
)  # fmt: skip
def test_text_source(given, call, expected):
    check(call, given, expected)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.txt", "Schöne\nFüchse\nfox\n", {}),
        ("a.txt", "Schöne\nFüchse\nfox\n", {"document_per_file": True}),
        ("a.jsonl", _JSON + 2 * '{"text": "ö"}\n', {"text_field": "text"}),
    ],
)
def test_latin1_is_warned_of(given, logged, name, content, options):
    assert given.lines(name, content.encode("latin-1"), **options)
    (message,) = logged.messages
    assert "2 lines of" in message and "not UTF-8" in message


_A_SOURCE = Says("give a TextSource or lines")


@cases(
    ("a name as the text", lambda x: x.create("corpus.txt"), _A_SOURCE),
    ("a path as the text", lambda x: x.create(Path("corpus.txt")), _A_SOURCE),
    ("one name for the output", lambda x: x.create(outputs="a.tfrecord"),
     Says("a list of names as the output_files")),
    ("one path for the output", lambda x: x.create(outputs=Path("a")),
     Says("a list of names as the output_files")),
    ("an output twice", lambda x: x.create(outputs=["a", "a"]),
     Says("are the same; give each a different name")),
    ("bytes", lambda x: x.create([b"the fox"]),
     Says("A line of the text is b'the fox'; give strings")),
    ("None", lambda x: x.create(["the fox", None]),
     Says("A line of the text is None; give strings")),
    ("lists of lines", lambda x: x.create([["the fox"]]),
     Says("A line of the text is ['the fox']; give strings")),
    ("no text", lambda x: x.create([]), Says("has no sentence")),
    ("no worker", lambda x: x.create(num_workers=0),
     Says("num_workers is 0, but must be a whole number above 0")),
    ("half a worker", lambda x: x.create(num_workers=1.5),
     Says("num_workers is 1.5, but must be a whole number")),
    ("no output", lambda x: x.create(outputs=[]),
     Says("There are no output files; give at least one")),
    ("a dict of settings", lambda x: x.create(config={"dupe_factor": 2}),
     Says("The config is a dict, but must be a PretrainingDataConfig")),
    ("the settings of the run",
     lambda x: x.create(config=keras_bert.PretrainingConfig()),
     Says("must be a PretrainingDataConfig; write PretrainingDataConfig(")),
    ("a vocabulary as the tokenizer",
     lambda x: keras_bert.create_pretraining_data(
         ["a"], [x.folder / "a"], x.vocab_file),
     Says("give a BertTokenizer, such as BertTokenizer('vocab.txt')")),
    ("a name to learn from",
     lambda x: keras_bert.text.learn_vocab("a.txt", "b.txt", vocab_size=100),
     Says("give a list, or an open file")),
    ("a path to learn from",
     lambda x: keras_bert.text.learn_vocab(Path("a"), "b.txt", vocab_size=100),
     Says("give a list, or an open file")),
    ("numbers to learn from",
     lambda x: keras_bert.text.learn_vocab([5], "b.txt", vocab_size=100),
     Says("A line or a word is 5; give strings")),
    ("numbers as new words", lambda x: keras_bert.checkpoints.extend_vocab(
        x.checkpoint, x.folder / "new", words=[5]),
     Says("A line or a word is 5; give strings")),
    ("None in a text for new words",
     lambda x: keras_bert.checkpoints.extend_vocab(
         x.checkpoint, x.folder / "new", ["a", None]),
     Says("A line or a word is None; give strings")),
    ("numbers in a text that is trimmed to",
     lambda x: keras_bert.checkpoints.trim_vocab(
         x.checkpoint, x.folder / "new", [0.5]),
     Says("A line or a word is 0.5; give strings")),
    ("a dict as the config", lambda x: keras_bert.checkpoints.trim_vocab(
        x.checkpoint, x.folder / "new", ["a"], config={"min_count": 2}),
     Says("The config is a dict, but must be a TrimVocabConfig")),
    ("no text to learn from",
     lambda x: keras_bert.text.learn_vocab([], "b.txt", vocab_size=100),
     Says("no word to learn a vocabulary from")),
)  # fmt: skip
def test_create_pretraining_data(given, call, expected):
    check(call, given, expected)


_SHORT = {"num_train_steps": 2, "num_warmup_steps": 1}


def _another_vocab(x):
    pieces = x.pieces[:5] + x.pieces[:4:-1]
    return x.file("other.txt", "\n".join(pieces) + "\n")


def _of_other_case(x):
    """Returns a copy of the records, as if they were not lower-cased."""
    text = Path(f"{x.records}.json").read_text()
    changed = text.replace('"do_lower_case": true', '"do_lower_case": false')
    assert changed != text
    x.file("other.tfrecord.json", changed)
    return x.file("other.tfrecord", x.records.read_bytes())


@cases(
    ("records of both cases", lambda x: x.pretrain(
        [x.records, _of_other_case(x)], vocab_file=x.vocab_file),
     Says("do_lower_case=False, strip_accents=None, tokenize_chinese_chars="
          "True); give records made with the same tokenizer")),
    ("held-out records of the other case", lambda x: x.pretrain(
        x.records, eval_files=_of_other_case(x), vocab_file=x.vocab_file),
     Says("give records made with the same tokenizer")),
    ("no file", lambda x: x.pretrain([]), Says("There is no file of records")),
    ("text", lambda x: x.pretrain(x.vocab_file),
     Says("is not a TFRecord file")),
    ("a folder", lambda x: x.pretrain([x.folder]), Says("is a folder; give")),
    ("another length",
     lambda x: x.pretrain(x.records, {"max_seq_length": 12}),
     Says("has input_ids of length 14, but the model reads length 12")),
    ("other predictions",
     lambda x: x.pretrain([x.records], {"max_predictions_per_seq": 4}),
     Says("has masked_lm_positions of length 3")),
    ("another vocabulary of the same size",
     lambda x: x.pretrain(x.records, vocab_file=_another_vocab(x)),
     Says("was made with a vocabulary other than")),
    ("held-out records of another vocabulary",
     lambda x: x.pretrain(
         [x.file("a", "")], eval_files=x.records, vocab_file=_another_vocab(x)
     ), Says("was made with a vocabulary other than")),
    ("a vocabulary of another size", lambda x: x.pretrain(
        x.records, vocab_file=x.file("v", "\n".join([*x.pieces, "x"]))),
     Says("has 32 word pieces, but the model config has a vocab_size of 31")),
    ("more tokens than positions",
     lambda x: x.pretrain(x.records, {"max_seq_length": 17}),
     Says("max_seq_length 17 is over")),
    ("weights for some files",
     lambda x: x.pretrain(f"{x.records}:0.5,{x.records}"),
     Says(":0.5")),
    *(
        (f"{content} beside records", lambda x, content=content: x.pretrain(
            x.described(content)), Says("does not describe the records of"))
        for content in ("[]", "{", "{}", "", '{"settings": 5}',
                        '{"settings": null}', '["settings"]')
    ),
    ("settings that are not of records", lambda x: sorted(x.pretrain(
        x.described('{"settings": {"seed": 1}}'), _SHORT))[0],
     "flops_per_second"),
    ("a case without a vocabulary",
     lambda x: x.pretrain(x.records, {"do_lower_case": False}),
     Says("give the vocab_file too, or leave do_lower_case out")),
    ("a callback that restores weights", lambda x: x.pretrain(
        x.records, callbacks=keras.callbacks.EarlyStopping(
            "loss", restore_best_weights=True)),
     Says("EarlyStopping would restore the best weights only after")),
    ("moments of nothing",
     lambda x: x.pretrain(x.records, {"init_moments": True}),
     Says("init_moments loads the optimizer's moments from a checkpoint")),
)  # fmt: skip
def test_pretrain(given, call, expected):
    check(call, given, expected)


def _masked(given, ids, seeds):
    features = {"input_ids": ids, "input_mask": np.ones_like(ids)}
    masker = keras_bert.text.MaskedLMMasker(given.tokenizer)
    return masker(features, seeds)["masked_lm_ids"].numpy()[:, 0].tolist()


_ROWS = [[2, 5, 3], [2, 9, 3]]


@cases(
    ("ids of 64 bits", lambda x: _masked(
        x, np.array(_ROWS, "int64"), [[7, 0], [7, 1]]), [5, 9]),
    ("ids of one text",
     lambda x: _masked(x, np.array(_ROWS[0]), [[7, 0]]),
     Says("input_ids has dtype int64 and shape (3,), but must be")),
    ("ids that are not whole",
     lambda x: _masked(x, np.array(_ROWS, "float32"), [[7, 0], [7, 1]]),
     Says("input_ids has dtype float32")),
    ("one row of seeds", lambda x: _masked(x, np.array(_ROWS), [[7, 0]]),
     Says("give each text a row of seeds")),
    ("seeds without rows", lambda x: _masked(x, np.array(_ROWS), [7, 0]),
     Says("seeds has dtype int32 and shape (2,)")),
    ("one number as seeds", lambda x: _masked(x, np.array(_ROWS), 7),
     Says("integers, one row per text")),
    ("seeds that are not whole",
     lambda x: _masked(x, np.array(_ROWS), [[0.5], [0.25]]),
     Says("seeds has dtype float32")),
    ("words as seeds", lambda x: _masked(x, np.array(_ROWS), [["a"], ["b"]]),
     Says("seeds has dtype string")),
)  # fmt: skip
def test_masker(given, call, expected):
    check(call, given, expected)
