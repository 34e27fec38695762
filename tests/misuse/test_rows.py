import numpy as np
import pandas as pd
import tensorflow as tf
from misuse_tables import Says, cases, check

_NAN = float("nan")
_FORM = Says("give a list of dicts such as {'text': ...}, or a dict of lists")
_PAIRS = Says("give a list of texts, a list of tuples (pairs), or a tuple of")
_A_DICT = Says("give a dict with a value for each of the text_fields")


class _DataFrame:
    """What a pandas.DataFrame has in common with a dict of arrays."""

    def __init__(self, **columns):
        self.columns = columns

    def keys(self):
        return self.columns.keys()

    def __getitem__(self, name):
        return np.array(self.columns[name], object)

    def __iter__(self):
        return iter(self.columns)

    def __bool__(self):
        raise ValueError("The truth value of a DataFrame is ambiguous.")


def _num_answers(rows, kind="classification"):
    return lambda x: len(x.predict(rows, kind))


@cases(
    ("a dict of lists", _num_answers({"text": ["a", "b"]}), 2),
    ("a dict of arrays", _num_answers({"text": np.array(["a", "b"])}), 2),
    ("a DataFrame", _num_answers(_DataFrame(text=["a", "b"], id=[1, 2])), 2),
    ("an array of objects", _num_answers(np.array([{"text": "a"}])), 1),
    ("a generator", lambda x: len(x.predict({"text": t} for t in "ab")), 2),
    ("a tuple of dicts", _num_answers(({"text": "a"}, {"text": "b"})), 2),
    ("nothing", lambda x: x.predict([]), []),
    ("no rows of columns", lambda x: x.predict({"text": []}), []),
    ("labels that are not known", _num_answers({"text": ["a"], "label": [-1]}),
     1),
    ("a numpy string", _num_answers([{"text": np.str_("a film")}]), 1),
    ("an empty text", lambda x: x.predict([{"text": ""}])[0]["num_tokens"], 2),
    ("a string", lambda x: x.predict("a film"), _FORM),
    ("one row", lambda x: x.predict({"text": "a film"}), _FORM),
    ("None", lambda x: x.predict(None), _FORM),
    ("lists of unequal lengths",
     lambda x: x.predict({"left": ["a", "b"], "right": ["c"]}, "pairs"),
     Says("a dict of lists of equal length")),
    ("an array of strings", _num_answers(np.array(["a", "b"])), 2),
    ("a tensor", lambda x: x.predict(tf.constant(["a film"])), _A_DICT),
    ("a set", lambda x: x.predict({"a film"}), _FORM),
    ("a pair", lambda x: x.predict(("a", "b"), "pairs"), _PAIRS),
    ("a list of two lists", lambda x: x.predict(
        [["a", "b"], ["c", "d"]], "pairs"), _PAIRS),
    ("a list of pairs", _num_answers([("a", "b")], "pairs"), 1),
    ("three lists of two", _num_answers([["a", "b"]] * 3, "pairs"), 3),
    ("two columns", _num_answers((["a"] * 3, ["b"] * 3), "pairs"), 3),
    ("columns of unequal lengths",
     lambda x: x.predict((["a"] * 3, ["b"] * 2), "pairs"),
     Says("give columns of equal length")),
    ("pairs for a text", lambda x: x.predict([("a", "b")]),
     Says("A row has 2 texts, but the model reads text")),
    ("texts for a pair", lambda x: x.predict(["a"], "pairs"),
     Says("has no field 'right'")),
    ("texts and a NaN", lambda x: x.predict(["a", _NAN]),
     Says("text of example 2 is nan; give a string")),
    ("texts as bytes", lambda x: x.predict([b"a"]),
     Says("is b'a'; give a string")),
    ("a row that is None", lambda x: x.predict([None]), _A_DICT),
    ("strings of pandas", _num_answers(pd.Series(["a", "b"], dtype="str")), 2),
    ("a missing string of pandas", lambda x: x.predict(
        pd.Series(["a", None], dtype="str")),
     Says("text of example 2 is nan; give a string")),
    ("a missing value of pandas", lambda x: x.predict(
        pd.Series([None, "a"], dtype="string")),
     Says("text of example 1 is <NA>; give a string")),
    ("a missing string of a DataFrame", lambda x: x.predict(
        pd.DataFrame({"text": ["a", None]})), Says("example 2 is nan")),
    ("a column with a number as its name",
     _num_answers(pd.DataFrame({"text": ["a"], 7: [1]})), 1),
    ("a batch as a string", lambda x: x.predict(["a"], batch_size="8"),
     Says("batch_size is '8', but must be a whole number")),
    ("a text that is None", lambda x: x.predict([{"text": None}]),
     Says("is None; give a string")),
    ("a text that is NaN", lambda x: x.predict([{"text": _NAN}]),
     Says("is nan; give a string")),
    ("bytes", lambda x: x.predict([{"text": b"a film"}]),
     Says("is b'a film'; give a string")),
    ("a number", lambda x: x.predict([{"text": 5}]), Says("give a string")),
    ("a list of texts", lambda x: x.predict([{"text": ["a", "b"]}]),
     Says("give a string")),
    ("another field", lambda x: x.predict([{"sentence": "a film"}]),
     Says("has no field 'text', only sentence")),
    ("half of a pair", lambda x: x.predict([{"left": "a"}], "pairs"),
     Says("has no field 'right', only left")),
    ("no batch", lambda x: x.predict([{"text": "a"}], batch_size=0),
     Says("batch_size is 0, but must be a whole number above 0")),
    ("a negative batch", lambda x: x.evaluate(
        [{"text": "a", "label": "1"}], batch_size=-1),
     Says("batch_size is -1")),
    ("half a batch", lambda x: x.predict([{"text": "a"}], batch_size=0.5),
     Says("batch_size is 0.5")),
    ("no row to evaluate", lambda x: x.evaluate([]),
     Says("There are no rows to evaluate")),
    ("no rows to export with",
     lambda x: x.model("classification").export(x.folder / "a", rows=[]),
     Says("There are no rows to evaluate")),
    ("text to export with",
     lambda x: x.model("classification").export(x.folder / "a", rows="a"),
     _FORM),
    ("columns with labels",
     lambda x: sorted(x.evaluate({"text": ["a", "b"], "label": ["1", "0"]})),
     ["accuracy", "loss"]),
)  # fmt: skip
def test_rows(given, call, expected):
    check(call, given, expected)


def _classified(label, kind="classification"):
    return lambda x: x.evaluate([{"text": "a", "label": label}], kind)


_STRINGS = Says("is not one of the strings '0', '1'")
_NAMES = Says("is not one of the strings 'no', 'yes'")


@cases(
    ("no label", lambda x: x.evaluate([{"text": "a"}]), _STRINGS),
    ("an integer", lambda x: x.evaluate_one(
        "classification", text="a", label=1), ["accuracy", "loss"]),
    ("an unknown integer", _classified(2), _STRINGS),
    ("a boolean", _classified(True), _STRINGS),
    ("a list", _classified(["1"]), _STRINGS),
    ("a label with a blank", _classified(" 1"), _STRINGS),
    ("the number of a name", _classified(1, "named"), _NAMES),
    ("another case", _classified("Yes", "named"), _NAMES),
    ("NaN", _classified(_NAN, "named"), _NAMES),
    ("labels of the shape (n, 1)", lambda x: sorted(x.model(
        "classification").evaluate(["a"], np.array([["1"]]))),
     ["accuracy", "loss"]),
    ("numbers of the shape (n, 1)", lambda x: sorted(x.model(
        "regression").evaluate(["a"], np.array([[1.5]]))), ["loss"]),
    ("labels of the shape (n, 2)", lambda x: x.model(
        "classification").evaluate(["a"], np.array([["1", "0"]])), _STRINGS),
    ("a table of one column of labels", lambda x: sorted(x.model(
        "classification").evaluate(["a"], pd.DataFrame({"y": ["1"]}))),
     ["accuracy", "loss"]),
    ("as many columns of labels as rows", lambda x: x.model(
        "classification").evaluate(
            ["a", "b"], pd.DataFrame({"id": ["1", "0"], "y": ["1", "0"]})),
     Says("y has the columns ['id', 'y']; give one, such as y['id']")),
    ("one string for several labels", _classified("a", "multilabel"),
     Says("give a list of labels, which may be empty")),
    ("None for several labels", _classified(None, "multilabel"),
     Says("give a list of labels, which may be empty")),
    ("a vector for several labels", _classified([1, 0], "multilabel"),
     Says("form a matrix of 0s and 1s")),
    ("joined labels", _classified(["a,b"], "multilabel"),
     Says("is not one of the strings 'a', 'b'")),
    ("NaN as a number", _classified(_NAN, "regression"),
     Says("Label nan of example 1 is not a number")),
    ("a boolean as a number", _classified(True, "regression"),
     Says("Label True of example 1 is not a number")),
    ("a decimal comma", _classified("4,5", "regression"),
     Says("Label '4,5' of example 1 is not a number")),
    ("a number that no answer reaches", _classified(80, "regression"),
     Says("is outside 0.0 to 5.0, the min_value and max_value")),
    ("a number below all answers", _classified("-1", "regression"),
     Says("is outside 0.0 to 5.0")),
)  # fmt: skip
def test_labels(given, call, expected):
    check(call, given, expected)


def _choice(label="0", endings=("b", "c")):
    row = {"context": "a", "endings": endings, "label": label}
    return lambda x: x.evaluate_one("multiple_choice", **row)


@cases(
    ("a numpy integer and an array of endings",
     _choice(np.int64(1), np.array(["b", "c"])), ["accuracy", "loss"]),
    ("a boolean", _choice(True), Says("Label True of example 1")),
    ("labels from 1", _choice("2"), Says("the indices of its endings")),
    ("the ending", _choice("b"), Says("the indices of its endings")),
    ("one string", _choice(endings="b"), Says("give a list of strings")),
    ("one ending", _choice(endings=["b"]), Says("at least two to choose from")),
    ("an ending that is None", _choice(endings=["b", None]),
     Says("is None; give a string")),
    ("other numbers of endings", lambda x: x.predict(
        [{"context": "a", "endings": list("bc")},
         {"context": "a", "endings": list("bcd")}], "multiple_choice"),
     Says("as many as the first example, 2")),
)  # fmt: skip
def test_choices(given, call, expected):
    check(call, given, expected)


def _tagged(words, label):
    row = {"words": words, "label": label}
    return lambda x: x.evaluate_one("token_classification", **row)


def _num_tags(words):
    def count(x):
        (answer,) = x.predict([{"words": words}], "token_classification")
        return len(answer["tags"])

    return count


@cases(
    ("an array of words", _num_tags(np.array(["Jo", "ran"])), 2),
    ("no words", _num_tags([]), 0),
    ("an empty word and two words as one", _num_tags(["a", "", "New York"]), 3),
    ("a string of words", _num_tags("Jo ran"), Says("give a list of strings")),
    ("fewer labels", _tagged(["a", "b"], ["O"]),
     Says("Example 1 has 2 words and the label ['O']")),
    ("a string of labels", _tagged(["a", "b"], "OO"),
     Says("give a list with a label for each word")),
    ("a tag of another scheme", _tagged(["a"], ["S-PER"]), Says("'S-PER'")),
    ("an empty word at the end", _num_tags(["a", ""]), 2),
    ("integers", _tagged(["a"], [0]), Says("is not one of the strings 'O'")),
    ("an unknown type", _tagged(["a"], ["B-ORG"]), Says("Label 'B-ORG'")),
)  # fmt: skip
def test_tags(given, call, expected):
    check(call, given, expected)


def _answered(label):
    row = {"question": "a", "context": "the fox", "label": label}
    return lambda x: x.evaluate_one("span", **row)


def _answer_at(start, text="fox"):
    return _answered([{"text": text, "answer_start": start}])


_ANSWERS = Says("give a list of answers, each with 'text', a string that is")


@cases(
    ("a numpy integer", _answer_at(np.int64(4)), ["f1", "loss"]),
    ("a boolean", _answer_at(True), _ANSWERS),
    ("before the context", _answer_at(-1), _ANSWERS),
    ("an empty answer", _answer_at(0, ""), _ANSWERS),
    ("a string", _answered("fox"), _ANSWERS),
    ("answers of transformers",
     _answered({"text": ["fox"], "answer_start": [4]}), _ANSWERS),
)  # fmt: skip
def test_answers(given, call, expected):
    check(call, given, expected)


@cases(
    ("the second text only", lambda x: x.predict([{"b": "x"}], "embedding"),
     Says("Example 1 has no field 'a', only b")),
    ("texts and pairs", lambda x: x.predict(
        [{"a": "x"}, {"a": "x", "b": "y"}], "embedding"),
     Says("all rows of a data set must have the same")),
    ("no score", lambda x: x.evaluate_one("embedding", a="x", b="y"),
     Says("needs rows with two texts and a number as the label")),
    ("a word as the score", lambda x: x.evaluate_one(
        "embedding", a="x", b="y", label="yes"),
     Says("Label 'yes' of example 1 is not a number")),
)  # fmt: skip
def test_texts_to_embed(given, call, expected):
    check(call, given, expected)
