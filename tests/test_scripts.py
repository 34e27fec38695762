"""Runs the scripts as a user does, from text to answers."""

import json

import pytest
from script_runs import SENTENCES, pretraining_flags, run

pytestmark = pytest.mark.slow


def test_from_text_to_answers(script_folder):
    out = run(
        "run_pretraining",
        **pretraining_flags(script_folder, script_folder / "pretrained"),
    )
    assert "val_masked_lm_loss = " in out
    run(
        "convert_checkpoint",
        input=script_folder / "pretrained",
        output=script_folder / "bert",
        to="huggingface",
    )
    out = run(
        "run_finetuning",
        task="glue/sst2",
        data_dir=script_folder,
        init_checkpoint=script_folder / "bert",
        output_dir=script_folder / "finetuned",
        max_seq_length=16,
        learning_rate=0.001,
        num_train_epochs=150,
    )
    assert "accuracy = 1\n" in out
    run(
        "export_model",
        model_dir=script_folder / "finetuned",
        export_dir=script_folder / "served",
    )
    texts = script_folder / "texts.txt"
    texts.write_text("\n".join(SENTENCES) + "\n")
    for answers in (
        run("predict", *SENTENCES, model_dir=script_folder / "served"),
        run("predict", model_dir=script_folder / "served", input_file=texts),
    ):
        answers = [json.loads(line) for line in answers.splitlines()]
        assert [a["label"] for a in answers] == ["0", "1"]
        assert [a["sentence"] for a in answers] == SENTENCES
    with (script_folder / "finetuned" / "predictions.jsonl").open() as lines:
        expected = [json.loads(next(lines)) for _ in range(2)]
    for answer, row in zip(answers, expected, strict=True):
        assert answer["scores"] == pytest.approx(row["scores"], abs=1e-5)
