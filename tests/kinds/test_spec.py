import dataclasses
import json

import pytest
from kind_examples import TEXT_FIELDS, make_kind, make_spec

from keras_bert.errors import InputError
from keras_bert.kinds import spec as specs
from keras_bert.kinds.registry import get_kind
from keras_bert.tasks.registry import get_task


@pytest.mark.parametrize("name", list(TEXT_FIELDS))
def test_a_spec_is_read_as_it_was_written(tmp_path, name):
    file = tmp_path / "task.json"
    spec = make_spec(name, labels=("a", "ß"), metrics=("f1",))
    file.write_text(specs.spec_to_json(spec), encoding="utf-8")
    assert specs.read_spec(file) == spec
    assert json.loads(file.read_text())["settings"]["max_seq_length"] == 12


def test_a_setting_that_no_longer_exists_is_read_if_it_says_nothing(tmp_path):
    file = tmp_path / "task.json"
    spec = make_spec("token_classification", labels=("O", "B-X"))
    values = json.loads(specs.spec_to_json(spec))
    values["settings"] |= {"features": "", "bilstm_size": 0}
    file.write_text(json.dumps(values))
    assert specs.read_spec(file) == spec
    values["settings"] |= {"bilstm_size": 6}
    file.write_text(json.dumps(values))
    with pytest.raises(InputError, match="has no setting 'bilstm_size'"):
        specs.read_spec(file)


def test_settings_override_those_of_the_task():
    task = get_task("glue/stsb")
    spec = specs.make_spec(task, {"max_value": 4.0, "max_seq_length": 7})
    assert spec.settings == get_kind("regression").Settings(
        max_seq_length=7, min_value=0.0, max_value=4.0
    )
    assert spec.text_fields == task.text_fields
    assert spec.metrics == task.metrics


def test_a_setting_of_another_kind_is_refused():
    message = (
        "The kind regression has no setting 'class_weights'; its settings are "
        "max_seq_length, window_pooling, doc_stride, max_num_windows, "
        "min_value, max_value"
    )
    with pytest.raises(InputError, match=message):
        specs.make_spec(get_task("glue/stsb"), {"class_weights": "balanced"})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("span", {"n_best_size": 0}, "n_best_size is 0, but must be above 0"),
        ("classification", {"label_smoothing": 1}, "must be below 1"),
        ("regression", {"min_value": "low"}, "min_value is 'low'"),
        ("multilabel", {"max_seq_length": 1.5}, "must be a whole number"),
        ("token_classification", {"max_seq_length": 3}, "must be at least 4"),
        (
            "token_classification",
            {"crf": True, "label_smoothing": 0.1},
            "label_smoothing is 0.1, but the loss",
        ),
    ],
)
def test_a_setting_with_a_wrong_value_is_named(name, settings, message):
    with pytest.raises(InputError, match=message):
        make_spec(name, **settings)


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(
        InputError, match="'guess'; the known kinds are "
    ) as error:
        get_kind("guess")
    known, _, _ = str(error.value).partition("kinds are ")[2].partition(". ")
    assert set(TEXT_FIELDS) <= set(known.split(", "))


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        ("classification", {}, "needs at least two labels"),
        ("multilabel", {"labels": ("a",)}, "needs at least two labels"),
        (
            "regression",
            {"labels": ("a", "b")},
            "kind regression has no lab",
        ),
        (
            "classification",
            {"labels": ("a", "b", "c"), "metrics": ("f1",)},
            "The metric f1 is for a task with two labels",
        ),
        ("regression", {"metrics": ("bleu",)}, "no metric 'bleu'; choose from"),
        ("regression", {"text_fields": ("a", "b", "c")}, "1 or 2 text_fields"),
        ("reranker", {"text_fields": ("a", "a")}, "that all differ, but"),
        ("next_sentence", {"labels": ("a", "b", "c")}, "two labels, one for t"),
        ("span", {"text_fields": ("a",)}, "the kind span has 2 text_fields"),
        (
            "token_classification",
            {"labels": ("O", "X"), "text_fields": ("a", "b")},
            "has 1 text_fields",
        ),
        ("regression", {"max_seq_length": 17}, "17 .*16"),
        ("regression", {"max_seq_length": 3}, "at least 4"),
    ],
)
def test_a_task_that_does_not_fit_its_kind_is_refused(
    config, vocab_file, name, spec, message
):
    with pytest.raises(InputError, match=message):
        make_kind(name, vocab_file, config, **spec)


def test_pairs_need_a_network_with_two_segments(config, vocab_file):
    config = dataclasses.replace(config, type_vocab_size=1)
    message = "segment 1, but the network has a type_vocab_size of 1"
    with pytest.raises(InputError, match=message):
        make_kind("reranker", vocab_file, config)
    make_kind("embedding", vocab_file, config, text_fields=("a", "b"))
    make_kind("classification", vocab_file, config, labels=("a", "b"))
