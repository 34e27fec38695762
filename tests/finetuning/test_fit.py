"""Training on what is in memory: `fit` of each class, and the data it takes."""

import dataclasses
import json
import re

import keras
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tensorflow as tf
from keras.callbacks import LambdaCallback
from misuse_tables import Says, cases, check
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.errors import InputError
from keras_bert.finetuning import FinetunedModel, MultipleChoiceModel
from keras_bert.finetuning.data import as_rows, learn_labels, with_label_names
from keras_bert.finetuning.training import history_of
from keras_bert.kinds.registry import get_kind

TEXTS = ["a good film", "a bad film", "the dog is bad", "the fox is good"] * 3
LABELS = ["good", "bad", "bad", "good"] * 3
NAN = float("nan")


_MEAN = {"pooling": "mean"}


def _classifier(*args, **kwargs):
    return keras_bert.TextClassifier.from_pretrained(*args, **kwargs)


def _weights(model):
    return {w.path: w.numpy() for w in model.model.weights}


@pytest.fixture(scope="module")
def without_pooler(config, tmp_path_factory):
    config = dataclasses.replace(config, num_hidden_layers=1)
    folder = tmp_path_factory.mktemp("base") / "without_pooler"
    return write_checkpoint(
        folder, config, build=keras_bert.models.build_embedder
    )


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    ("start", "settings", "pooling"),
    [
        ("checkpoint", {}, "pooled"),
        pytest.param("without_pooler", {}, "mean", marks=pytest.mark.slow),
        pytest.param(
            "without_pooler",
            {"pooling": "pooled"},
            "pooled",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_fit_is_finetune_to_the_last_bit(
    start, settings, pooling, request, tmp_path
):
    checkpoint = request.getfixturevalue(start)
    config = keras_bert.FinetuningConfig(
        learning_rate=0.01, train_batch_size=5, num_train_epochs=2
    )
    rows = [
        {"text": text, "label": label}
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    task = keras_bert.Task(
        kind="classification",
        text_fields=("text",),
        labels=("bad", "good"),
        metrics=("accuracy",),
        read=lambda _, split: rows if split == "train" else rows[:7],
        settings={"max_seq_length": 16, **settings},
        test_files={},
    )
    out = tmp_path / "out"
    figures = keras_bert.finetune(
        task, tmp_path, out, checkpoint=checkpoint, config=config
    )
    expected = keras_bert.load_finetuned(out)
    assert isinstance(expected, keras_bert.TextClassifier)
    assert expected.kind.spec.settings.pooling == pooling

    model = _classifier(checkpoint, **settings)
    held_out = TEXTS[:7], LABELS[:7]
    history = model.fit(TEXTS, LABELS, validation_data=held_out, config=config)
    assert model.kind.spec == expected.kind.spec
    table = pd.read_csv(out / "history.csv")
    ends = table.dropna(subset="val_loss")
    for name in ("val_loss", "val_accuracy", "learning_rate"):
        assert history.history[name] == ends[name].to_list()
    # All steps have a row here; the loss of an epoch is their mean.
    assert len(table) == 6
    np.testing.assert_allclose(
        history.history["loss"], table["loss"].to_numpy().reshape(2, 3).mean(1)
    )
    assert model.evaluate(*held_out) == figures
    for path, weight in _weights(expected).items():
        np.testing.assert_array_equal(_weights(model)[path], weight, path)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_tagger_learns_from_words_and_is_asked_strings(checkpoint, tmp_path):
    """All kinds are in test_families; this one reads other texts when asked."""
    x = [["the", "dog"], ["a", "fox-dog", "jumped"]]
    y = [["O", "B-A"], ["O", "B-A", "O"]]
    model = keras_bert.TokenClassifier.from_pretrained(checkpoint)
    history = model.fit(x, y, validation_data=(x, y), epochs=2)
    assert np.isfinite(history.history["loss"]).all()
    assert len(history.epoch) == 2
    (answer,) = model.predict(["the dog"])
    assert "entities" in answer
    assert "loss" in model.evaluate(x, y)
    model.save(tmp_path / "saved")
    assert "# saved" in (tmp_path / "saved/README.md").read_text()
    loaded = keras_bert.load_finetuned(tmp_path / "saved")
    assert type(loaded) is keras_bert.TokenClassifier
    assert loaded.predict(["the dog"]) == [answer]
    assert loaded.training["num_train_steps"] == 2
    weight = loaded.model.weights[0]
    weight.assign(np.full(weight.shape, NAN))
    with pytest.raises(InputError, match="of this model is not a number"):
        loaded.predict(["the dog"])
    # What the first rows say about words is still known.
    model.fit([["the", "dog"]], [["O", "B-A"]], epochs=1)
    assert model.kind.spec.settings.inner_punctuation == "-"


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_an_embedder_is_judged_by_rows_without_labels(checkpoint):
    x = [("a dog", "a fox", "bad")] * 3
    model = keras_bert.TextEmbedder.from_pretrained(checkpoint)
    history = model.fit(x, None, validation_data=(x, None), epochs=1)
    assert np.isfinite(history.history["loss"]).all()
    assert "loss" in model.evaluate(x, None)


class Interrupts(LambdaCallback):
    """Presses Ctrl-C after some steps, and remembers the weights."""

    def __init__(self, num_steps):
        super().__init__()
        self.steps_left = num_steps

    def on_train_batch_end(self, batch, logs=None):
        self.steps_left -= 1
        if not self.steps_left:
            self.weights = [w.numpy() for w in self.model.weights]
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_ctrl_c_leaves_the_weights_of_the_last_step(checkpoint):
    model = _classifier(checkpoint)
    callback = Interrupts(5)
    history = model.fit(
        TEXTS,
        LABELS,
        batch_size=4,
        learning_rate=0.01,
        epochs=3,
        callbacks=[callback],
    )
    assert history.epoch == [0]  # 3 steps; the second epoch is not whole
    for weight, expected in zip(
        _weights(model).values(), callback.weights, strict=True
    ):
        np.testing.assert_array_equal(weight, expected)
    assert model.predict(["a film"])[0]["label"] in ("bad", "good")


@pytest.mark.usefixtures("eagerly")
def test_a_second_fit_starts_from_the_present_weights(checkpoint):
    model = _classifier(checkpoint, labels=[False, True])
    assert model.kind.spec.labels == ("False", "True")
    kernel = model.model.get_layer("classifier").kernel
    kernel.assign(np.full(kernel.shape, 0.25))
    before = _weights(model)
    # The rate of a single step is 0.
    model.fit(TEXTS, [x == "good" for x in LABELS], epochs=1, batch_size=12)
    for path, weight in _weights(model).items():
        np.testing.assert_array_equal(weight, before[path])
    with pytest.raises(keras_bert.InputError, match="'new'.*'False', 'True'"):
        model.fit(TEXTS, ["new"] * 12)


def test_settings_of_the_network_are_refused(checkpoint):
    model = _classifier(checkpoint, labels=["bad", "good"])
    layer = model.model.get_layer("embeddings")
    layer.trainable = False
    with pytest.raises(InputError, match="has trainable=False.*freeze_e"):
        model.fit(TEXTS, LABELS)
    layer.trainable = True
    model.model.compile("sgd")
    with pytest.raises(InputError, match="is compiled, but this fit ignores"):
        model.fit(TEXTS, LABELS)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_an_output_dir_resumes_equal_data_only(checkpoint, tmp_path):
    def fit(labels=LABELS):
        model = _classifier(checkpoint)
        out = tmp_path / "out"
        return model.fit(
            TEXTS, labels, epochs=2, output_dir=out, callbacks=[steps]
        ).history, _weights(model)

    seen = []
    steps = LambdaCallback(on_train_batch_end=lambda *x: seen.append(x))
    history, weights = fit()
    assert len(seen) == 2
    again, weights_again = fit()
    assert again == history
    assert len(seen) == 2
    for path, weight in weights.items():
        np.testing.assert_array_equal(weights_again[path], weight)
    with pytest.raises(keras_bert.InputError, match="other training rows"):
        fit(sorted(LABELS))
    assert keras_bert.load_finetuned(tmp_path / "out").training


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_metrics_are_those_of_this_run(checkpoint, tmp_path):
    """Not those that another run left there, and a score of 0 counts too."""
    (tmp_path / "eval_results.json").write_text('{"accuracy": 0.75}')
    model = _classifier(checkpoint, ["bad", "good"])
    model.fit(
        TEXTS,
        ["good"] * 12,
        validation_data=(TEXTS, ["bad"] * 12),
        epochs=2,
        batch_size=4,
        learning_rate=0.05,
        output_dir=tmp_path,
    )
    assert model.training["metrics"] == {"accuracy": 0.0}
    loaded = keras_bert.load_finetuned(tmp_path)
    assert "metrics" not in loaded.training


def _as_rows(x, y=None, fields=("text", "other"), has_pairs=True):
    return as_rows(x, y, text_fields=fields, has_pairs=has_pairs)


ROWS = [{"text": "a", "label": 1}, {"text": "b", "label": 0}]
COLUMNS = {"text": ["a", "b"], "label": [1, 0]}
PAIRS = [{"text": "a", "other": "c"}, {"text": "b", "other": "d"}]
_dataset = tf.data.Dataset.from_tensor_slices


class _DataSet:
    """What `datasets.Dataset` has: names, and a column for each."""

    column_names = list(COLUMNS)

    def __getitem__(self, name):
        return COLUMNS[name]


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (ROWS, (["a", "b"], [1, 0])),
        (ROWS, (np.array(["a", "b"]), np.array([1, 0]))),
        (ROWS, (np.array(["a", "b"], object), (1, 0))),
        (ROWS, (pd.Series(["a", "b"], index=[7, 5]), pd.Series([1, 0]))),
        (ROWS, (pl.Series(["a", "b"]), pl.Series([1, 0]))),
        (ROWS, (pa.chunked_array([["a"], ["b"]]), pa.array([1, 0]))),
        (ROWS, ((x for x in "ab"), [1, 0])),
        (ROWS, (ROWS,)),
        (ROWS, (COLUMNS,)),
        (ROWS, (pd.DataFrame(COLUMNS),)),
        (ROWS, (pd.DataFrame(COLUMNS)[["text"]], [1, 0])),
        (ROWS, (["a", "b"], pd.DataFrame(COLUMNS)[["label"]])),
        (ROWS, (pl.DataFrame(COLUMNS),)),
        ([{**PAIRS[0], "label": 2}], (_dataset(([["a", "c"]], [2])),)),
        (ROWS, (pa.table(COLUMNS),)),
        (ROWS, (_DataSet(),)),
        (ROWS, (_dataset((["a", "b"], [1, 0])),)),
        (ROWS, (_dataset((["a", "b"], [1, 0])).batch(2),)),
        (ROWS, (_dataset(COLUMNS),)),
        (ROWS, (_dataset(({"text": ["a", "b"]}, [1, 0])),)),
        ([{"text": "ä"}], (_dataset(["ä"]),)),
        (PAIRS, ([("a", "c"), ("b", "d")],)),
        (PAIRS, ((["a", "b"], ["c", "d"]),)),
        (PAIRS, ((pd.Series(["a", "b"]), np.array(["c", "d"])),)),
        (PAIRS, (np.array([["a", "c"], ["b", "d"]]),)),
        ([{**PAIRS[0], "label": 2}], (_dataset(((["a"], ["c"]), [2])),)),
        ([], ([],)),
        ([], ([], [])),
    ],
)  # fmt: skip
def test_data(expected, arguments):
    assert _as_rows(*arguments) == expected


@pytest.mark.parametrize(
    "words",
    [
        [["a", "b"], ["c"]],
        pl.Series([["a", "b"], ["c"]]),
        pd.Series([np.array(["a", "b"]), np.array(["c"])]),
        _dataset(tf.ragged.constant([["a", "b"], ["c"]])),
    ],
    ids=["lists", "polars", "pandas", "tf.data"],
)
def test_words(words):
    found = _as_rows(words, fields=("words",), has_pairs=False)
    assert found == [{"words": ["a", "b"]}, {"words": ["c"]}]


# Texts with lists of one label and of two labels.
_LABELED = tf.data.Dataset.zip(
    _dataset(["a", "b"]),
    _dataset(tf.ragged.constant([["a"], ["b", "a"]])).map(tf.identity),
)


class _Stream:
    """Has columns, but no values by name, as a streamed data set."""

    column_names = ("text", "label")

    def __iter__(self):
        return iter(ROWS[:1])


@cases(
    ("more labels", lambda x: _as_rows(["a"], [1, 2]),
     Says("The labels of 1 rows are [1, 2]; give a list with a label for")),
    ("as many columns as rows", lambda x: _as_rows(
        ["a", "b"], pd.DataFrame({"id": [1, 2], "label": [1, 0]})),
     Says("y has the columns ['id', 'label']; give one, such as y['id']")),
    ("a number as the name of a column", lambda x: _as_rows(
        pd.DataFrame({0: ["a"], "text": ["b"]})), [{"0": "a", "text": "b"}]),
    ("a string of labels", lambda x: _as_rows(["a"], "1"),
     Says("give a list with a label for each row")),
    ("a number of labels", lambda x: _as_rows(["a"], 1), Says("give a list")),
    ("a data set and labels", lambda x: _as_rows(_dataset(["a"]), [1]),
     Says("leave y out")),
    ("a data set without end", lambda x: _as_rows(_dataset(["a"]).repeat()),
     Says("has no end")),
    ("weights in a data set", lambda x: _as_rows(_dataset((["a"], [1], [2]))),
     Says("has 3 parts")),
    ("bytes that are no text", lambda x: _as_rows(_dataset([b"\xff"])),
     Says("is not UTF-8")),
    ("integers in order", lambda x: learn_labels([{"label": 10}, {"label": 9}]),
     ("9", "10")),
    ("booleans", lambda x: learn_labels([{"label": True}, {"label": False}]),
     ("False", "True")),
    ("lists", lambda x: learn_labels([{"label": ["b"]}, {"label": ["a"]}]),
     ("a", "b")),
    ("several types", lambda x: learn_labels([{"label": 1}, {"label": "a"}]),
     Says("The labels have the types int and str")),
    ("blanks", lambda x: learn_labels([{"label": "a"}, {"label": "a "}]),
     Says("Some of the labels 'a', 'a ' differ only in leading or")),
    ("a matrix", lambda x: learn_labels([{"label": [0, 1]}, {"label": [1, 1]}]),
     Says("form a matrix of 0s and 1s")),
    ("a matrix of tuples", lambda x: learn_labels(
        _as_rows(["a", "b"], list(zip([0, 1], [1, 1], strict=True)))),
     Says("form a matrix of 0s and 1s")),
    *(
        (f"a matrix of one column of {name}", lambda x, y=y: learn_labels(
            _as_rows(["a", "b"], y)), Says("form a matrix of 0s and 1s"))
        for name, y in (("an array", np.array([[1], [0]])),
                        ("tuples", [(0,), (1,)]),
                        ("booleans", [[True], [False]]))
    ),
    ("lists of one number", lambda x: learn_labels(
        [{"label": [0]}, {"label": [1]}, {"label": [2]}]), ("0", "1", "2")),
    ("lists of one name that is a number", lambda x: with_label_names(
        [{"label": [0]}, {"label": [1]}], ["0", "1", "2"]),
     [{"label": ["0"]}, {"label": ["1"]}]),
    ("no label", lambda x: learn_labels([{"text": "a"}]),
     Says("The label of example 1 is None")),
    ("a label that is NaN", lambda x: learn_labels([ROWS[0], {"label": NAN}]),
     Says("The label of example 2 is nan")),
    ("an empty label", lambda x: learn_labels([ROWS[0], {"label": ""}]),
     Says("Example 2 has the empty label ''; correct it, or leave it out.")),
    ("a label of a blank", lambda x: learn_labels([{"label": " "}]),
     Says("Example 1 has the empty label ' '")),
    ("padded labels", lambda x: learn_labels(
        _as_rows(_LABELED.padded_batch(2))),
     Says("padded_batch adds empty labels to lists; use ragged_batch")),
    ("padded tags", lambda x: learn_labels(
        [{"label": ["B"]}, {"label": ["B", ""]}], are_tags=True),
     Says("Example 2 has the empty label ''")),
    ("ragged labels", lambda x: learn_labels(
        _as_rows(_LABELED.ragged_batch(2))), ("a", "b")),
    ("a fraction", lambda x: learn_labels([{"label": 0.5}]),
     Says("is 0.5; give y, or a column 'label', with a string, an integer")),
    ("a matrix of names", lambda x: with_label_names(
        [{"label": [0, 1]}, {"label": [1, 1]}], ["0", "1"]),
     Says("form a matrix of 0s and 1s")),
    ("tags of two words", lambda x: with_label_names(
        [{"label": [0, 1]}], ["0", "1"], are_tags=True),
     [{"label": ["0", "1"]}]),
    ("a name of two columns", lambda x: _as_rows(pd.concat(
        [pd.DataFrame({"id": [1, 2], "text": TEXTS[:2]}),
         pd.DataFrame({"id": [1, 2]})], axis=1)),
     Says("Several columns are named 'id'")),
    ("named tuples", lambda x: _as_rows(
        list(pd.DataFrame({"text": ["a"]}).itertuples())),
     [{"Index": 0, "text": "a"}]),
    ("records of NumPy", lambda x: _as_rows(pd.DataFrame(
        {"other_text": ["b"], "text": ["a"]}).to_records(index=False)),
     [{"other_text": "b", "text": "a"}]),
    ("a list of records of NumPy", lambda x: _as_rows([np.array(
        [("b", 1)], [("text", "U1"), ("label", int)])[0]]),
     [{"text": "b", "label": 1}]),
    ("a stream of rows", lambda x: _as_rows(_Stream()), ROWS[:1]),
    ("the number of a name", lambda x: with_label_names(ROWS, ["no", "yes"]),
     Says("Label 1 of example 1 is not one of the strings 'no', 'yes'; if it")),
)  # fmt: skip
def test_wrong_data(call, expected):
    check(call, None, expected)


def _fit(x, y=None, **kwargs):
    return lambda c: _classifier(c).fit(x, y, **kwargs)


def _make(*args, **kwargs):
    return lambda checkpoint: _classifier(checkpoint, *args, **kwargs)


ONE_LABEL = Says("needs at least two labels")


ROWS_OF_NAMES = [{"text": "a", "label": "1"}, {"text": "b", "label": "0"}]


@cases(
    ("no texts", _fit([], []), Says("There are no rows to train on")),
    ("no labels", _fit(TEXTS), Says("The label of example 1 is None")),
    ("one label", _fit(["a"], ["b"]), ONE_LABEL),
    ("one text", _fit("a", ["b"]), Says("The rows are 'a'; give a list")),
    ("three texts", _fit([("a", "b", "c")], [1]), Says("A row has 3 texts")),
    ("a column of labels with another name", _fit(
        pd.DataFrame({"mail": TEXTS, "team": LABELS})),
     Says("none is named label; give the labels as y, or rename")),
    ("its own label", lambda c: _classifier(
        c, text_fields=("text", "team")).fit(
        pd.DataFrame({"text": TEXTS, "team": LABELS}), LABELS),
     Says("The text field 'team' is the label of every row")),
    ("many fields", _fit([{"id": "1", "review": "a", "label": 1}]),
     Says("The rows have the text fields id, review; say which of these fi")),
    ("no epoch", _fit(TEXTS, LABELS, epochs=0), Says("epochs is 0")),
    ("casing", _fit(TEXTS, LABELS, config=keras_bert.FinetuningConfig(
        do_lower_case=True)), Says("give do_lower_case to from_pretrained")),
    ("three parts", _fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS, None)),
     Says("give (x, y) or rows that")),
    ("no labels to validate", _fit(TEXTS, LABELS, validation_data=TEXTS),
     Says("A row of validation_data has no label; give (x, y), or rows")),
    ("no rows to validate", _fit(TEXTS, LABELS, validation_data=([], [])),
     Says("validation_data is ([], [])")),
    ("another label to validate", _fit(
        TEXTS, LABELS, validation_data=(["a"], ["x"])), Says("Label 'x'")),
    ("patience without rows to validate", _fit(
        TEXTS, LABELS, config=keras_bert.FinetuningConfig(
            early_stopping_patience=2)),
     Says("early_stopping_patience is 2, but there are no validation rows")),
    ("before fit", lambda c: _classifier(c).predict(["a"]),
     Says("The model has no labels yet")),
    ("numbers", lambda c: _classifier(c).fit([1, 2], ["a", "b"]),
     Says("Example 1 is 1; give a dict")),
    ("numbers to embed", lambda c: keras_bert.TextEmbedder.from_pretrained(
        c).fit([1, 2]), Says("Example 1 is 1; give a dict")),
    ("a string of labels", _make("good"), Says("'good' is not a list of lab")),
    ("a label twice", _make(["a", "a"]), Says("that all differ")),
    ("an empty tag", lambda c: keras_bert.TokenClassifier.from_pretrained(
        c, ["O", ""]), Says("has tags that are not empty, but this one has")),
    ("one label to choose", _make(["a"]), ONE_LABEL),
    ("one field", lambda c: _classifier(c, ["a", "b"], "text")
     .kind.spec.text_fields, ("text",)),
    ("a share of the rows to validate", _fit(
        TEXTS, LABELS, validation_split=0.1), Says("give them as validation")),
    ("weights of labels", _fit(TEXTS, LABELS, class_weight={0: 1.0}),
     Says("give class_weights to from_pretrained")),
    ("weights of rows", _fit(TEXTS, LABELS, sample_weight=[1.0]),
     Says("class_weights of from_pretrained weighs whole labels")),
    ("a new head", _fit(TEXTS, LABELS, new_head=True),
     Says("give it to from_pretrained")),
    ("verbose", _fit(TEXTS, LABELS, verbose=0), Says("set_verbosity")),
    ("no such argument", _fit(TEXTS, LABELS, speed=3),
     Says("fit has no argument 'speed'")),
    ("an unknown setting", _make(["a", "b"], size=3),
     Says("no setting 'size'")),
    ("a long sequence", _make(["a", "b"], max_seq_length=99), Says("99")),
    ("no kind", lambda c: FinetunedModel.from_pretrained(c),
     Says("FinetunedModel has no kind")),
    ("no checkpoint", lambda c: _classifier(None), Says("no checkpoint; give")),
    ("labels of a number", lambda c: keras_bert.TextRegressor.from_pretrained(
        c, labels=["a", "b"]), Says("has no labels")),
    *(
        (f"the field {name}", _fit(pd.DataFrame({name: TEXTS}), LABELS),
         Says(f"'{name}' cannot be the name of a text field"))
        for name in ("Review Text", "문장", "self", "text-a", "1st", "class", 0)
    ),
    ("a given field that cannot be exported", _fit(
        [{"Review Text": "a", "label": 1}, {"Review Text": "b", "label": 2}]),
     Says("'Review Text' cannot be the name of a text field")),
    ("integer tags", lambda c: keras_bert.TokenClassifier.from_pretrained(
        c)._rows.learn([["a", "dog"]], [[0, 1]])[0].spec.labels, ("0", "1")),
    ("y of the shape (n, 1)", lambda c: _classifier(c)._rows.learn(
        ["a", "b"], np.array([[1], [0]]))[1], ROWS_OF_NAMES),
    ("lists of one label", lambda c:
        keras_bert.MultiLabelClassifier.from_pretrained(c)._rows.learn(
            ["a", "b"], np.array([["1"], ["0"]]))[1][1]["label"], ["0"]),
    ("fields of the data", lambda c: _classifier(c)._rows.learn(
        [{"review": "a", "label": 1}, {"review": "b", "label": 2}],
        None)[0].spec.text_fields, ("review",)),
    ("a second text that the first row lacks", _fit(
        [("a", None), ("b", "c")], [0, 1]), Says("other_text of example 1")),
    ("texts and pairs", _fit(["a", ("b", "c")], [0, 1]),
     Says("Example 1 has no field 'other_text'")),
    ("a field twice", _make(["a", "b"], ("text", "text")),
     Says("all names must differ")),
    ("the label as a field", _make(["a", "b"], ("text", "label")),
     Says("none may be 'label'")),
    ("fields of choices", lambda c: MultipleChoiceModel.from_pretrained(
        c)._rows.learn([{"id": "1", "context": "a", "endings": ["b"]}],
        None)[0].spec.text_fields, ("context", "endings")),
)  # fmt: skip
def test_misuse(call, expected, checkpoint):
    check(call, checkpoint, expected)


def test_a_model_of_the_kind_keeps_its_task(checkpoint, tmp_path):
    fields, labels = ("review",), ("no", "yes")
    _classifier(checkpoint, labels, fields, max_seq_length=9).save(
        tmp_path / "saved"
    )
    model = _classifier(tmp_path / "saved")
    spec = model.kind.spec
    assert (spec.text_fields, spec.labels) == (fields, labels)
    assert spec.settings.max_seq_length == 9
    other = _classifier(tmp_path / "saved", ["0", "1"], window_pooling="mean")
    assert other.kind.spec == dataclasses.replace(
        spec,
        labels=("0", "1"),
        settings=dataclasses.replace(spec.settings, window_pooling="mean"),
    )
    with pytest.raises(keras_bert.InputError, match="has a, b, c; give new_h"):
        _classifier(tmp_path / "saved", ("a", "b", "c"))


def test_an_embedder_learns_another_number_of_texts():
    model = keras_bert.TextEmbedder.from_pretrained("mini_en")
    triplet = (["a"], ["b"], ["c"])
    learned, _ = model._rows.learn(triplet)
    assert learned.spec.text_fields == ("text", "other_text", "negative")


@pytest.mark.parametrize(
    ("numbers", "ignored"),
    [
        ({"score": [0.9, 0.1]}, ["'score'"]),
        ({"id": [7, 8], "other": [NAN, NAN]}, []),
        ({"label": [0.9, 0.1], "score": [0.9, 0.1]}, []),
    ],
)
def test_an_embedder_names_numbers_that_it_ignores(numbers, ignored, logged):
    model = keras_bert.TextEmbedder.from_pretrained("mini_en")
    frame = pd.DataFrame({"text": TEXTS[:2], "other_text": TEXTS[2:4]})
    model._rows.learn(frame.assign(**numbers))
    found = re.findall("their numbers in (.*) are ignored", logged.text)
    assert found == ignored


def test_a_classifier_reads_what_the_checkpoint_has(
    checkpoint, without_pooler, tmp_path
):
    def pooling_of(start, **settings):
        model = _classifier(start, ["a", "b"], **settings)
        return model.kind.spec.settings.pooling

    assert pooling_of(checkpoint) == "pooled"
    assert pooling_of(checkpoint, pooling="mean") == "mean"
    assert pooling_of(without_pooler) == "mean"
    assert pooling_of(without_pooler, pooling="pooled") == "pooled"
    _classifier(checkpoint, ["a", "b"], pooling="mean").save(tmp_path / "a")
    assert pooling_of(tmp_path / "a") == "mean"


def test_weights_without_a_config_tell_what_a_classifier_reads(
    checkpoint, without_pooler, tmp_path, config
):
    """The config was given, as by --bert_config_file."""
    defaults = get_kind("classification").settings_from_checkpoint
    for start, expected in ((checkpoint, {}), (without_pooler, _MEAN)):
        (tmp_path / start.name).mkdir()
        file = tmp_path / start.name / "model.safetensors"
        file.write_bytes((start / file.name).read_bytes())
        assert defaults(file, config, {}) == expected
        assert defaults(file, config, _MEAN) == {}


def test_transformers_learns_where_texts_are_cut(checkpoint, tmp_path):
    _classifier(checkpoint, ["a", "b"], max_seq_length=9).save(tmp_path / "a")
    keras_bert.convert_checkpoint(tmp_path / "a", tmp_path / "b", "huggingface")
    file = tmp_path / "b" / "tokenizer_config.json"
    assert json.loads(file.read_text())["model_max_length"] == 9
    loaded = keras_bert.load_finetuned(tmp_path / "b")
    assert loaded.kind.spec.settings.max_seq_length == 9


def test_figures_of_training_are_means_over_the_epoch():
    rows = [
        {"step": 2, "loss": 3.0, "learning_rate": 0.2},
        {"step": 3, "loss": 6.0, "learning_rate": 0.1, "minutes": 1},
        {"step": 5, "loss": 1.0, "learning_rate": 0.0, "minutes": 2},
    ]
    history = history_of(rows, keras.Sequential())
    assert history.history["loss"] == [4.0, 1.0]
    assert history.history["learning_rate"] == [0.1, 0.0]


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_fit_that_a_callback_ended_is_finished(checkpoint, tmp_path):
    """Its result has the weights that the callback restored."""

    def fit():
        stopping = keras.callbacks.EarlyStopping(
            "loss", patience=1, mode="max", restore_best_weights=True
        )
        model = _classifier(checkpoint)
        history = model.fit(
            TEXTS,
            LABELS,
            epochs=6,
            callbacks=[stopping],
            output_dir=tmp_path / "run",
            config=keras_bert.FinetuningConfig(learning_rate=0.01),
        )
        return history.epoch, _weights(model)

    epochs, weights = fit()
    assert len(epochs) < 6
    again, same = fit()
    assert again == epochs
    saved = _weights(keras_bert.load_finetuned(tmp_path / "run"))
    for path, weight in weights.items():
        np.testing.assert_array_equal(same[path], weight, path)
        np.testing.assert_array_equal(saved[path], weight, path)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("lora_rank", [0, 2])
def test_the_result_of_mixed_precision_computes_in_float32(
    lora_rank, checkpoint, tmp_path
):
    """Like the saved model, which other formats are exported from."""
    config = keras_bert.FinetuningConfig(
        precision="bfloat16", lora_rank=lora_rank, learning_rate=0.01
    )
    model = _classifier(checkpoint)
    for _ in range(2):
        model.fit(TEXTS, LABELS, epochs=1, config=config)
        layers = model.model._flatten_layers()
        assert {layer.compute_dtype for layer in layers} == {"float32"}
    model.save(tmp_path / "saved")
    loaded = keras_bert.load_finetuned(tmp_path / "saved")
    assert loaded.predict(TEXTS) == model.predict(TEXTS)
