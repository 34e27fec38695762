"""The scripts report wrong input in one sentence."""

import gzip
import json

from script_runs import error_of, pretraining_flags


def test_wrong_input_of_the_data_scripts(script_folder, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(b"the fox jumped\n")[:-9])
    no_mask = tmp_path / "no_mask.txt"
    no_mask.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nfox\n")
    data = {
        "input_file": script_folder / "corpus.txt",
        "output_file": tmp_path / "out.tfrecord",
        "vocab_file": script_folder / "vocab.txt",
    }
    for changes, message in (
        ({"input_file": "absent.txt"}, "No file matches 'absent.txt'"),
        ({"input_file": empty}, "The text has no sentence"),
        ({"input_file": cut}, f"{cut} is not a complete gzip file"),
        ({"output_file": tmp_path}, f"{tmp_path} is a folder"),
        ({"vocab_file": no_mask}, "has no [MASK]"),
        ({"vocab_file": "absent.txt"}, "No vocabulary at absent.txt"),
    ):
        assert message in error_of("create_pretraining_data", **data | changes)
    for text, message in (
        (empty, "no word to learn"),
        (cut, f"{cut} is not a complete gzip file"),
    ):
        assert message in error_of(
            "build_vocab", input_file=text, output_file=tmp_path / "v.txt"
        )
    assert "Give an input_file" in error_of(
        "extend_vocab", checkpoint=script_folder, output_dir=tmp_path / "x"
    )
    assert set(tmp_path.iterdir()) == {empty, cut, no_mask}


def test_wrong_input_of_pretraining(script_folder, tmp_path):
    heads = tmp_path / "heads.json"
    config = json.loads((script_folder / "bert_config.json").read_text())
    heads.write_text(json.dumps(config | {"num_attention_heads": 5}))
    for changes, message in (
        ({"input_file": "absent"}, "No file matches 'absent'"),
        ({"bert_config_file": heads}, "12 is not a multiple of num_attention"),
        (
            {"bert_config_file": "bert_tyni"},
            "No model is named 'bert_tyni'; give",
        ),
        ({"checkpoint": tmp_path}, "No checkpoint at"),
    ):
        flags = pretraining_flags(script_folder, tmp_path / "out", **changes)
        assert message in error_of("run_pretraining", **flags)
    assert not list((tmp_path / "out").glob("*"))


def test_wrong_input_of_finetuning_and_serving(script_folder, tmp_path):
    (tmp_path / "train.tsv").write_text("sentence\tlabel\na film\tgood\n")
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\na film\t1\n")
    flags = {
        "task": "glue/sst2",
        "data_dir": tmp_path,
        "bert_config_file": script_folder / "bert_config.json",
        "vocab_file": script_folder / "vocab.txt",
        "output_dir": tmp_path / "out",
        "max_seq_length": 16,
    }
    for changes, message in (
        ({}, "Label 'good' of example 1 is not one of the strings '0', '1'"),
        ({"checkpoint": "absent"}, "No checkpoint at absent"),
    ):
        assert message in error_of("run_finetuning", **flags | changes)
    assert not (tmp_path / "out").exists()
    assert "No checkpoint at absent" in error_of(
        "export_model", model_dir="absent", export_dir=tmp_path / "served"
    )
    assert "The format litert has no precision bfloat16" in error_of(
        "export_model",
        model_dir="absent",
        export_dir=tmp_path / "served",
        format="litert",
        precision="bfloat16",
    )
    output = tmp_path / "vectors.npy"
    assert "No checkpoint at absent" in error_of(
        "embed", input_file="a.txt", output_file=output, checkpoint="absent"
    )
    assert not output.exists()
