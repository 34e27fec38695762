import logging

import pytest

from keras_bert.errors import InputError
from keras_bert.tasks.registry import get_task, known_tasks

# Header lines of the official files. Of CoLA, only test.tsv has one.
MNLI = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\t"
    "sentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\t"
    "sentence2"
)
STSB = (
    "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\t"
    "sentence2"
)


FIELDS = {
    "mnli": ("premise", "hypothesis", "label"),
    "ax": ("premise", "hypothesis", "label"),
    "qqp": ("question1", "question2", "label"),
    "qnli": ("question", "sentence", "label"),
    "rte": ("sentence1", "sentence2", "label"),
    "stsb": ("sentence1", "sentence2", "label"),
}


@pytest.mark.parametrize(
    ("task", "split", "file", "header", "line", "values"),
    [
        (
            "mnli",
            "train",
            "train.tsv",
            f"{MNLI}\tlabel1\tgold_label",
            "0\t31193\t31193n\tgovernment\t( a )\t( b )\t(X a)\t(X b)\tIt is "
            'a "\tIt is b\tneutral\tentailment',
            ('It is a "', "It is b", "entailment"),
        ),
        (
            "mnli",
            "validation_mismatched",
            "dev_mismatched.tsv",
            f"{MNLI}\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label",
            "0\t1\t1c\tfiction\tp\tp\tp\tp\tx\ty\tneutral\tneutral\tneutral\t"
            "neutral\tneutral\tcontradiction",
            ("x", "y", "contradiction"),
        ),
        (
            "mnli",
            "test_matched",
            "test_matched.tsv",
            MNLI,
            "0\t1\t1c\tfiction\tp\tp\tp\tp\tx\ty",
            ("x", "y"),
        ),
        *(
            (
                task,
                split,
                file,
                "index\tsentence1\tsentence2",
                "0\tThe cat sat.\tThe cat did not sit.",
                ("The cat sat.", "The cat did not sit."),
            )
            for task, split, file in (
                ("mnli", "diagnostic", "diagnostic.tsv"),
                ("mnli", "diagnostic", "../diagnostic/diagnostic.tsv"),
                ("ax", "test", "diagnostic.tsv"),
            )
        ),
        (
            "ax",
            "validation",
            "diagnostic-full.tsv",
            "Lexical Semantics\tPredicate-Argument Structure\tLogic\tKnowledge"
            "\tDomain\tPremise\tHypothesis\tLabel",
            "\t\tNegation\t\tArtificial\tThe cat sat.\tIt did not.\t"
            "contradiction",
            ("The cat sat.", "It did not.", "contradiction"),
        ),
        (
            "qqp",
            "validation",
            "dev.tsv",
            "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
            "404285\t433578\t379845\tHow?\tHow so?\t1",
            ("How?", "How so?", "1"),
        ),
        (
            "qqp",
            "test",
            "test.tsv",
            "id\tquestion1\tquestion2",
            "0\tHow?\tHow so?",
            ("How?", "How so?"),
        ),
        (
            "qnli",
            "train",
            "train.tsv",
            "index\tquestion\tsentence\tlabel",
            "0\tWho?\tHe.\tnot_entailment",
            ("Who?", "He.", "not_entailment"),
        ),
        (
            "rte",
            "train",
            "train.tsv",
            "index\tsentence1\tsentence2\tlabel",
            "0\tNo weapons.\tWeapons.\tnot_entailment",
            ("No weapons.", "Weapons.", "not_entailment"),
        ),
        (
            "stsb",
            "train",
            "train.tsv",
            f"{STSB}\tscore",
            "0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\tA plane.\t"
            "An air plane.\t3.800",
            ("A plane.", "An air plane.", "3.800"),
        ),
    ],
)
def test_official_columns(tmp_path, task, split, file, header, line, values):
    folder = tmp_path / "task"
    for path in (folder, tmp_path / "diagnostic"):
        path.mkdir()
    (folder / file).write_text(f"{header}\n{line}\n")
    (row,) = get_task(f"glue/{task}").read(folder, split)
    assert row == dict(zip(FIELDS[task], values, strict=False))


def test_metrics_labels_and_files_are_those_of_the_server():
    tasks = {k: v for k, v in known_tasks().items() if k.startswith("glue/")}
    accuracy = ("accuracy",)
    assert {name: task.metrics for name, task in tasks.items()} == {
        "glue/ax": ("matthews", "accuracy"),
        "glue/cola": ("matthews", "accuracy"),
        "glue/mnli": accuracy,
        "glue/mrpc": ("f1", "accuracy"),
        "glue/qnli": accuracy,
        "glue/qqp": ("f1", "accuracy"),
        "glue/rte": accuracy,
        "glue/sst2": accuracy,
        "glue/stsb": ("pearson", "spearman"),
        "glue/wnli": accuracy,
    }
    files = [f for task in tasks.values() for f in task.test_files.values()]
    names = "AX AX CoLA MNLI-m MNLI-mm MRPC QNLI QQP RTE SST-2 STS-B WNLI"
    assert sorted(files) == [f"{name}.tsv" for name in names.split()]
    labels = {name: task.labels for name, task in tasks.items()}
    assert labels["glue/mnli"] == ("contradiction", "entailment", "neutral")
    assert labels["glue/ax"] == labels["glue/mnli"]
    assert labels["glue/rte"] == labels["glue/qnli"]
    assert labels["glue/qnli"] == ("entailment", "not_entailment")
    assert tasks["glue/stsb"].settings == {"min_value": 0, "max_value": 5}
    assert tasks["glue/mnli"].validation_splits == (
        "validation_matched",
        "validation_mismatched",
    )


def test_broken_lines_of_qqp(tmp_path, caplog):
    """An official question contains a line break, which splits its line."""
    text = (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        '7\t1\t2\tWho?\t"Who was he?\n'
        '"\t0\n'
        "8\t3\t4\tHow?\tHow so?\t1\n"
    )
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text(text)
    (tmp_path / "test.tsv").write_text(
        "id\tquestion1\tquestion2\n0\tWho?\n1\tHow?\tHow so?\n"
    )
    task = get_task("glue/qqp")
    for split in ("train", "validation"):
        with caplog.at_level(logging.WARNING, "absl"):
            rows = list(task.read(tmp_path, split))
        assert [row["question1"] for row in rows] == ["How?"]
        (message,) = caplog.messages
        assert message.startswith("2 lines of")
        assert message.endswith("do not have 6 columns, so they are skipped.")
        caplog.clear()
    with pytest.raises(InputError, match="Line 2 of .*test.tsv has 2 columns"):
        list(task.read(tmp_path, "test"))


@pytest.mark.parametrize(
    ("task", "folder"),
    [
        ("glue/cola", "CoLA"),
        ("glue/mrpc", "MRPC"),
        ("glue/sst2", "SST-2"),
        ("glue/wnli", "WNLI"),
    ],
)
def test_the_rows_of_a_test_set_are_numbered_from_0(shared, task, folder):
    """The server expects an `index` that counts from 0."""
    folder = shared / "data" / "glue" / folder
    lines = (folder / "test.tsv").read_text("utf-8-sig").split("\n")[1:-1]
    rows = list(get_task(task).read(folder, "test"))
    assert [line.split("\t")[0] for line in lines] == [
        str(i) for i in range(len(rows))
    ]


def test_official_pairs(shared):
    folder = shared / "data" / "glue" / "QNLI"
    rows = list(get_task("glue/qnli").read(folder, "validation"))
    assert len(rows) == 5463
    assert sum(row["label"] == "entailment" for row in rows) == 2702
    assert rows[1]["question"].startswith("What is the first major city in")
