"""Runs the scripts as a user does, from text to answers."""

import json

import numpy as np
import pytest
from script_runs import SENTENCES, pretraining_flags, run, run_in_a_new_process
from small_checkpoint import write_checkpoint

pytestmark = pytest.mark.slow


def test_from_text_to_answers(script_folder, tmp_path):
    out = run_in_a_new_process(
        "run_pretraining",
        **pretraining_flags(script_folder, tmp_path / "pretrained"),
    )
    assert "val_masked_lm_loss = " in out
    run_in_a_new_process(
        "convert_checkpoint",
        input=tmp_path / "pretrained",
        output=tmp_path / "bert",
        to="huggingface",
    )
    out = run_in_a_new_process(
        "run_finetuning",
        task="glue/sst2",
        data_dir=script_folder,
        checkpoint=tmp_path / "bert",
        output_dir=tmp_path / "finetuned",
        max_seq_length=16,
        learning_rate=0.001,
        num_train_epochs=150,
    )
    assert "accuracy = 1\n" in out
    run_in_a_new_process(
        "export_model",
        model_dir=tmp_path / "finetuned",
        export_dir=tmp_path / "served",
    )
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(SENTENCES) + "\n")
    for answers in (
        run_in_a_new_process(
            "predict", *SENTENCES, model_dir=tmp_path / "served"
        ),
        run_in_a_new_process(
            "predict", model_dir=tmp_path / "served", input_file=texts
        ),
    ):
        answers = [json.loads(line) for line in answers.splitlines()]
        assert [a["label"] for a in answers] == ["0", "1"]
        assert [a["sentence"] for a in answers] == SENTENCES
    with (tmp_path / "finetuned" / "predictions.jsonl").open() as lines:
        expected = [json.loads(next(lines)) for _ in range(2)]
    for answer, row in zip(answers, expected, strict=True):
        assert answer["scores"] == pytest.approx(row["scores"], abs=1e-5)


def test_from_a_checkpoint_to_vectors(config, tmp_path):
    write_checkpoint(tmp_path / "pretrained", config)
    run(
        "convert_checkpoint",
        input=tmp_path / "pretrained",
        output=tmp_path / "st",
        to="sentence_transformers",
        pooling="cls",
        max_seq_length=14,
    )
    (tmp_path / "texts.txt").write_text("\n".join(SENTENCES) + "\n")
    out = run(
        "embed",
        model_dir=tmp_path / "st",
        input_file=tmp_path / "texts.txt",
        output_file=tmp_path / "vectors.npy",
        dimensions=5,
    )
    assert f"Wrote the vectors of {len(SENTENCES)} texts to" in out
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape == (len(SENTENCES), 5)
    for name, content in (
        ("corpus.jsonl", {"_id": "d1", "title": "", "text": SENTENCES[0]}),
        ("queries.jsonl", {"_id": "q1", "text": SENTENCES[0]}),
    ):
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("q\td\ts\nq1\td1\t1\n")
    out = run(
        "evaluate_retrieval",
        model_dir=tmp_path / "st",
        data_dir=tmp_path,
        output_dir=tmp_path / "out",
    )
    assert "ndcg@10 = 1\n" in out
    run("export_model", model_dir=tmp_path / "st", export_dir=tmp_path / "s")
    out = run("predict", SENTENCES[0], model_dir=tmp_path / "s")
    found = json.loads(out)["embedding"][:5]
    np.testing.assert_allclose(
        found / np.linalg.norm(found), vectors[0], atol=1e-5
    )
