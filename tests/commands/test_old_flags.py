"""The command lines of google-research/bert's README, with small inputs."""

import json
import shlex

import numpy as np
import pytest
from conftest import write_vocab
from script_runs import error_of, run
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.commands import finetune, pretrain
from keras_bert.commands.flags import Flags


@pytest.fixture(scope="module")
def folder(tmp_path_factory, config):
    """A checkpoint in Google's format, a pair of texts, MRPC and SQuAD."""
    folder = tmp_path_factory.mktemp("google")
    write_checkpoint(folder / "ours", config)
    keras_bert.convert_checkpoint(
        folder / "ours", folder / "bert", "google_tf1"
    )
    write_vocab(folder / "bert")
    (folder / "mrpc").mkdir()
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = "".join(
        f"{i % 2}\t{i}\t{i + 9}\tthe fox jumped\ta dog is lazy\n"
        for i in range(5)
    )
    for name in ("train", "dev"):
        (folder / "mrpc" / f"{name}.tsv").write_text(header + rows)
    (folder / "mrpc" / "test.tsv").write_text(
        "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\ta fox\ta dog\n"
    )
    for version, answers in (("1.1", True), ("2.0", False)):
        questions = [
            {
                "id": f"{number}",
                "question": "a dog ?",
                "answers": [{"text": "fox", "answer_start": 4}] * found,
                "is_impossible": not found,
            }
            for number, found in enumerate([True, answers])
        ]
        paragraphs = [{"context": "the fox jumped over", "qas": questions}]
        content = json.dumps({"data": [{"paragraphs": paragraphs}]})
        for name in ("train", "dev"):
            (folder / f"{name}-v{version}.json").write_text(content)
    (folder / "pair.txt").write_text("the fox ||| a dog\n")
    return folder


def _run(script, folder, tmp_path, line):
    """Runs a command line of the README; {B} is the checkpoint's folder."""
    line = line.format(B=folder / "bert", I=folder, O=tmp_path)
    return run(script, *shlex.split(line))


def _weights(checkpoint, config):
    model = keras_bert.models.build_encoder(config)
    keras_bert.load_checkpoint(model, checkpoint)
    return model.get_weights()


@pytest.mark.slow
def test_run_classifier(folder, tmp_path, config):
    out = _run(
        "run_finetuning",
        folder,
        tmp_path,
        "--task_name=MRPC --do_train=true --do_eval=true --data_dir={I}/mrpc "
        "--vocab_file={B}/vocab.txt --bert_config_file={B}/bert_config.json "
        "--init_checkpoint={B}/bert_model.ckpt --max_seq_length=12 "
        "--train_batch_size=3 --learning_rate=2e-5 --num_train_epochs=1.0 "
        "--output_dir={O}/mrpc_output/",
    )
    assert "accuracy = " in out and "f1 = " in out
    training = json.loads(
        (tmp_path / "mrpc_output/best/training.json").read_text()
    )
    assert training["task"] == "glue/mrpc"
    assert training["num_train_steps"] == 2
    # Two small steps from the released weights are not far from them.
    pairs = zip(
        _weights(tmp_path / "mrpc_output/best", config),
        _weights(folder / "ours", config),
        strict=True,
    )
    difference = max(np.abs(a - b).max() for a, b in pairs)
    assert 0 < difference < 1e-4
    predicted = _run(
        "run_finetuning",
        folder,
        tmp_path,
        "--task_name=MRPC --do_predict=true --data_dir={I}/mrpc "
        "--vocab_file={B}/vocab.txt --bert_config_file={B}/bert_config.json "
        "--init_checkpoint={O}/mrpc_output/best --max_seq_length=12 "
        "--output_dir={O}/predictions/",
    )
    assert predicted == out
    answers = (tmp_path / "predictions" / "MRPC.tsv").read_text()
    assert answers.splitlines()[0] == "index\tprediction"
    assert len(answers.splitlines()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "more"),
    [("1.1", ""), ("2.0", "--version_2_with_negative=True")],
)
def test_run_squad(folder, tmp_path, version, more):
    out = _run(
        "run_finetuning",
        folder,
        tmp_path,
        "--vocab_file={B}/vocab.txt --bert_config_file={B}/bert_config.json "
        "--init_checkpoint={B}/bert_model.ckpt --do_train=True "
        f"--train_file={{I}}/train-v{version}.json --do_predict=True "
        f"--predict_file={{I}}/dev-v{version}.json --train_batch_size=12 "
        "--learning_rate=3e-5 --num_train_epochs=2.0 --max_seq_length=12 "
        f"--doc_stride=3 --max_query_length=4 --output_dir={{O}}/squad/ {more} "
        "--use_tpu=False",
    )
    assert "exact_match = " in out
    spec = json.loads((tmp_path / "squad" / "best" / "task.json").read_text())
    assert spec["settings"]["answers_may_be_missing"] == (version == "2.0")
    assert spec["settings"]["doc_stride"] == 3


@pytest.mark.slow
def test_extract_features(folder, tmp_path):
    _run(
        "embed",
        folder,
        tmp_path,
        "--input_file={I}/pair.txt --output_file={O}/output.jsonl "
        "--vocab_file={B}/vocab.txt --bert_config_file={B}/bert_config.json "
        "--init_checkpoint={B}/bert_model.ckpt --layers=-1,-2 "
        "--max_seq_length=12 --batch_size=8",
    )
    row = json.loads((tmp_path / "output.jsonl").read_text())
    tokens = [token["token"] for token in row["features"]]
    assert tokens == "[CLS] the fox [SEP] a dog [SEP]".split()
    layers = row["features"][0]["layers"]
    assert [layer["index"] for layer in layers] == [-1, -2]


@pytest.mark.parametrize(
    ("module", "line", "expected"),
    [
        (
            finetune,
            "--task_name=MRPC --do_train=true --do_eval=true --data_dir=mrpc "
            "--init_checkpoint=b/bert_model.ckpt --num_train_epochs=3.0 "
            "--output_dir=out --use_tpu=True --tpu_name=t",
            {
                "task": "glue/mrpc",
                "checkpoint": "b/bert_model.ckpt",
                "num_train_epochs": 3.0,
                "distribution_strategy": "tpu",
                "tpu": "t",
            },
        ),
        (
            finetune,
            "--task_name=MRPC --do_predict=true --data_dir=mrpc "
            "--init_checkpoint=out/best --predict_batch_size=3 --output_dir=o "
            "--use_tpu=False --tpu_name=t",
            {"num_train_epochs": 0, "eval_batch_size": 3, "tpu": ""},
        ),
        *(
            (
                finetune,
                f"--task=MRPC --data_dir=d --output_dir=o {line}",
                {"num_train_epochs": num_epochs},
            )
            for line, num_epochs in (
                ("--do_predict=false", 3.0),
                ("--do_eval=false --do_predict=false", 3.0),
                ("--do_eval=true --do_predict=false", 0),
                ("--do_train=false", 0),
            )
        ),
        (
            finetune,
            "--train_file=s/train-v2.0.json --predict_file=s/dev-v2.0.json "
            "--version_2_with_negative=True --do_train=True --output_dir=out",
            {"task": "squad/v2", "data_dir": "s", "num_train_epochs": 3.0},
        ),
        (
            pretrain,
            "--input_file=a.tfrecord --output_dir=out --do_train=True "
            "--do_eval=True --init_checkpoint=b/bert_model.ckpt "
            "--iterations_per_loop=5",
            {
                "eval_file": "a.tfrecord",
                "checkpoint": "b/bert_model.ckpt",
                "steps_per_execution": 5,
            },
        ),
    ],
)
def test_the_flags_become_ours(module, line, expected):
    flags = Flags("keras-bert", shlex.split(line), module.run, module.__doc__)
    module.define(flags)
    flags.add_aliases()
    flags.parse()
    module.translate(flags)
    assert {name: getattr(flags, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("script", "flags", "message"),
    [
        (
            "run_pretraining",
            "--input_file=x --do_train=false",
            "keras-bert pretrain always trains; leave out --do_train=false",
        ),
        (
            "run_pretraining",
            "--input_file=x --max_eval_steps=100",
            "--max_eval_steps of google-research/bert has no counterpart here",
        ),
        ("run_finetuning", "--epochs=3", "no --epochs; write --num_train_epo"),
        (
            "run_finetuning",
            "--train_file=a/train-v1.1.json --predict_file=b/x.json",
            "The SQuAD file b/x.json must be named a/dev-v1.1.json; rename",
        ),
        (
            "run_finetuning",
            "--task=squad/v1 --version_2_with_negative=true",
            "Give either --task and --data_dir, or --train_file and --predict",
        ),
        (
            "run_finetuning",
            "--task=glue/mrpc --task_name=MRPC",
            "--task and --task_name are the same flag; give only one of",
        ),
    ],
)
def test_what_has_no_counterpart_is_a_sentence(script, flags, message):
    assert message in error_of(script, *flags.split(), output_dir="y")
