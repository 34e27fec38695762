import dataclasses

import pytest
from misuse_tables import Says, cases, check

import keras_bert
from keras_bert import (
    BertConfig,
    FinetuningConfig,
    InputError,
    PretrainingDataConfig,
)
from keras_bert.kinds.registry import get_kind

_ROWS = [{"text": "a film", "label": "1"}]
_NAN, _INFINITY = float("nan"), float("inf")
_TASK = keras_bert.Task(
    kind="classification",
    text_fields=("text",),
    labels=("0", "1"),
    metrics=("accuracy",),
    read=lambda data_dir, split: _ROWS,
    settings={"max_seq_length": 8},
)
_A_TUPLE = Says("give a tuple of strings")


def _task(**changes):
    return lambda x: dataclasses.replace(_TASK, **changes)


@cases(
    ("labels as a string", _task(labels="01"), _A_TUPLE),
    ("labels as integers", _task(labels=(0, 1)), _A_TUPLE),
    ("labels as a set", _task(labels={"no", "yes"}), _A_TUPLE),
    ("labels as a dict", _task(labels={"no": 0, "yes": 1}), _A_TUPLE),
    ("labels as None", _task(labels=None), _A_TUPLE),
    ("a label twice", lambda x: x.finetune(_task(labels=("0", "0"))(x)),
     Says("has labels that all differ")),
    ("one text field", _task(text_fields="ab"), _A_TUPLE),
    ("one metric", _task(metrics="accuracy"), _A_TUPLE),
    ("one split", _task(validation_splits="validation"), _A_TUPLE),
    ("settings as pairs", _task(settings=[("max_seq_length", 8)]),
     Says("The settings of the task are [('max_seq_length', 8)]; give a d")),
    ("a file of predictions", _task(test_files=("test.tsv",)),
     Says("The test_files of the task are ('test.tsv',); give a dict.")),
    ("a file to read", _task(read="train.tsv"),
     Says("The task's read is 'train.tsv'; give a function")),
    ("labels as a list", lambda x: len(_task(labels=["0", "1"])(x).labels), 2),
    ("a kind that is unknown",
     lambda x: x.finetune(_task(kind="sentiment")(x)),
     Says("No kind of task is named 'sentiment'")),
    ("a metric of another kind",
     lambda x: x.finetune(_task(metrics=("pearson",))(x)),
     Says("has no metric 'pearson'; choose from accuracy")),
)  # fmt: skip
def test_task(given, call, expected):
    check(call, given, expected)


_FILE = """from keras_bert import Task
{} = {{"a": Task(kind="regression", text_fields=("x",), metrics=("pearson",),
    read=print)}}
"""


@cases(
    ("a path", lambda x: keras_bert.get_task(
        x.file("my.py", _FILE.format("TASKS"))).kind, "regression"),
    ("a file without TASKS", lambda x: keras_bert.get_task(
        str(x.file("my.py", _FILE.format("MINE")))), Says("defines no tasks")),
    ("a file with one task alone", lambda x: keras_bert.get_task(x.file(
        "my.py", _FILE.format("MINE") + "TASKS = MINE['a']")),
     Says("defines no tasks; give it a dict TASKS")),
    ("half of a name", lambda x: keras_bert.get_task("sst2"),
     Says("the known tasks are codah, embedding/korsts, ")),
    ("None", lambda x: keras_bert.get_task(None),
     Says("the known tasks are codah")),
    ("a path to finetune", lambda x: x.finetune(x.file("my.py", "TASKS = {}")),
     Says("defines no tasks")),
    ("a file that is not there", lambda x: keras_bert.get_task("absent.py"),
     Says("There is no task file at absent.py")),
)  # fmt: skip
def test_get_task(given, call, expected):
    check(call, given, expected)


def _finetuning(**values):
    return lambda x: FinetuningConfig(**values)


def _config(**values):
    return lambda x: BertConfig(**{"vocab_size": 31} | values)


@cases(
    ("a dict as the config",
     lambda x: x.finetune(_TASK, config={"learning_rate": 1e-4}),
     Says("The config is a dict, but must be a FinetuningConfig")),
    ("the config of another run",
     lambda x: x.finetune(_TASK, config=keras_bert.PretrainingConfig()),
     Says("is a PretrainingConfig, but must be a FinetuningConfig")),
    ("negative epochs", _finetuning(num_train_epochs=-1),
     Says("num_train_epochs is -1")),
    ("NaN epochs", _finetuning(num_train_epochs=_NAN),
     Says("num_train_epochs is nan")),
    ("infinite epochs", _finetuning(num_train_epochs=_INFINITY),
     Says("must be finite")),
    ("a rate as a string", _finetuning(learning_rate="5e-5"),
     Says("learning_rate is '5e-5', but must be a number")),
    ("a rate of 0", _finetuning(learning_rate=0), Says("must be above 0")),
    ("a batch of 32.0", _finetuning(train_batch_size=32.0),
     Says("must be a whole number")),
    ("a batch of True", _finetuning(train_batch_size=True),
     Says("must be a whole number")),
    ("a warm-up of 10 percent", _finetuning(warmup_proportion=10),
     Says("must be at most 1")),
    ("false as a string", _finetuning(do_lower_case="false"),
     Says("do_lower_case is 'false', but must be True or False")),
    ("a number as a boolean", _finetuning(do_lower_case=1),
     Says("do_lower_case is 1, but must be True or False")),
    ("None as a string", _finetuning(hidden_layer_map=None),
     Says("hidden_layer_map is None, but must be a string")),
    ("bytes as a string", _finetuning(tpu=b"local"),
     Says("tpu is b'local', but must be a string")),
    ("another spelling", _finetuning(optimizer="adamW"),
     Says("must be one of adam_weight_decay")),
    ("false for the next sentence",
     lambda x: keras_bert.PretrainingConfig(next_sentence="false"),
     Says("next_sentence is 'false', but must be True or False")),
    ("masks of 15 percent",
     lambda x: PretrainingDataConfig(masked_lm_prob=15),
     Says("must be below 1")),
    ("a length as a string",
     lambda x: PretrainingDataConfig(max_seq_length="128"),
     Says("must be a whole number")),
    ("NaN short sequences",
     lambda x: PretrainingDataConfig(short_seq_prob=_NAN),
     Says("must be at least 0")),
    ("a range upside down",
     lambda x: get_kind("regression").Settings(min_value=5.0, max_value=1.0),
     Says("must be below the max_value, 1.0")),
    ("another kind's setting",
     lambda x: x.finetune(_TASK, settings={"seq_length": 8}),
     Says("has no setting 'seq_length'; its settings are max_seq_length")),
    ("an object of settings",
     lambda x: x.finetune(_TASK, settings=get_kind("regression").Settings()),
     Says("must be a dict such as {\"max_seq_length\": 64}")),
    ("a dict of class weights with a wrong one",
     lambda x: x.finetune(_TASK, settings={"class_weights": {"0": "high"}}),
     Says("class_weights is '0=high'; give 'balanced'")),
    ("class weights as a number",
     lambda x: x.finetune(_TASK, settings={"class_weights": 2}),
     Says("class_weights is 2, but must be a string")),
    ("the weight of no class",
     lambda x: x.finetune(_TASK, settings={"class_weights": "yes=2"}),
     Says("class_weights is 'yes=2'; give 'balanced'")),
    ("more tokens than positions",
     lambda x: x.finetune(_TASK, settings={"max_seq_length": 17}),
     Says("max_seq_length 17 is over the max_position_embeddings 16")),
    ("a vocabulary size as a string", _config(vocab_size="31"),
     Says("must be a whole number")),
    ("a float as a size", _config(hidden_size=12.0),
     Says("must be a whole number")),
    ("NaN dropout", _config(hidden_dropout_prob=_NAN),
     Says("must be at least 0")),
    ("a dropout of 10 percent", _config(hidden_dropout_prob=10),
     Says("must be below 1")),
    ("an infinite range", _config(initializer_range=_INFINITY),
     Says("must be finite")),
    ("heads that do not fit", _config(num_attention_heads=5),
     Says("is not a multiple of num_attention_heads 5")),
    ("a name with hyphens", lambda x: BertConfig.from_name("bert-tiny"),
     Says("bert_tiny")),
    ("a kind's name", lambda x: get_kind("classifier"),
     Says("No kind of task is named 'classifier'; the known kinds are")),
)  # fmt: skip
def test_settings(given, call, expected):
    check(call, given, expected)


@cases(
    ("no rows", lambda x: x.finetune(_task(read=lambda *_: [])(x)),
     Says("found no rows of the split train")),
    ("no return", lambda x: x.finetune(_task(read=lambda *_: None)(x)),
     Says("found no rows of the split train")),
    ("rows of strings",
     lambda x: x.finetune(_task(read=lambda *_: ["a film"])(x)),
     Says("give a dict with a value for each of the text_fields")),
    ("integer labels", lambda x: x.finetune(
        _task(read=lambda *_: [{"text": "a", "label": 1}])(x)),
     Says("is not one of the strings '0', '1'")),
    ("no such checkpoint",
     lambda x: x.finetune(_TASK, checkpoint="absent"),
     Says("No checkpoint at absent")),
    ("neither checkpoint nor config",
     lambda x: x.finetune(_TASK, checkpoint=None),
     Says("Give a bert_config or a checkpoint")),
    ("the checkpoint as the output",
     lambda x: x.finetune(_TASK, output_dir=x.checkpoint),
     Says("would be mistaken for the result of the run")),
    ("no data folder",
     lambda x: keras_bert.finetune("glue/sst2", None, x.folder / "output"),
     Says("A path is None, but must be a string")),
    ("a teacher of other labels",
     lambda x: x.finetune(_TASK, teacher=x.saved("named")),
     Says("has the labels ('no', 'yes'), but the task has ('0', '1')")),
    ("a teacher of another kind",
     lambda x: x.finetune(_TASK, teacher=x.saved("regression")),
     Says("has the kind 'regression'")),
    ("a weight without a teacher", lambda x: x.finetune(
        _TASK, config=FinetuningConfig(distillation_weight=0.9)),
     Says("distillation_weight needs a teacher")),
    ("a temperature without a teacher", lambda x: x.finetune(
        _TASK, config=FinetuningConfig(distillation_temperature=3.0)),
     Says("distillation_temperature needs a teacher")),
    *(
        (f"the field {name!r}", lambda x, name=name: x.finetune(
            _task(text_fields=(name,))(x)),
         Says(f"{name!r} cannot be the name of a text field"))
        for name in ("Review Text", "문장", "self", "text-a", "1st", "label",
                     "a.b", "_a", "None", "")
    ),
    ("a model of other labels to evaluate", lambda x: x.finetune(
        _TASK, checkpoint=x.saved("named"),
        config=FinetuningConfig(num_train_epochs=0)),
     Says("give a model of this task, or rename the model's labels")),
)  # fmt: skip
def test_finetune(given, call, expected):
    check(call, given, expected)


@pytest.mark.parametrize("name", ["file", "file/out"])
def test_an_output_folder_that_is_a_file(given, name):
    file = given.file("file", "a text")
    with pytest.raises(InputError, match="file is a file; give a folder.$"):
        given.finetune(_TASK, output_dir=given.folder / name)
    assert file.read_text() == "a text"
