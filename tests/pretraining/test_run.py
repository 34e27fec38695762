import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file
from short_records import LINES

from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_tokenizer import (
    load_tokenizer,
)
from keras_bert.export.mask_filler import fill_mask
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.run import (
    PretrainingConfig,
    _load_tokenizer,
    pretrain,
)
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.run import create_pretraining_data
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_json import tokenizer_json
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.training.steps import Steps

CONFIG = PretrainingConfig(
    learning_rate=0.003,
    train_batch_size=8,
    eval_batch_size=32,
    save_checkpoints_steps=300,
    num_train_steps=600,
    num_warmup_steps=50,
    max_seq_length=14,
    max_predictions_per_seq=3,
)


@pytest.fixture
def shallow(config):
    """The second layer is like the first: its graph costs time only."""
    return replace(config, num_hidden_layers=1)


def test_a_run_learns_to_fill_a_mask(config, records, vocab_file, tmp_path):
    config = replace(
        config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    figures = pretrain(
        config,
        [records],
        tmp_path / "out",
        eval_files=[records],
        vocab_file=vocab_file,
        config=CONFIG,
    )
    assert figures["step"] == 600
    assert figures["val_masked_lm_loss"] < 1.8  # log(31) = 3.43 at random
    assert figures["val_masked_lm_accuracy"] > 0.4
    # The total is the sum of both losses over the same examples.
    assert figures["val_loss"] == pytest.approx(
        figures["val_masked_lm_loss"] + figures["val_next_sentence_loss"],
        rel=0.02,
    )
    for prefix in ("", "val_"):
        assert figures[f"{prefix}masked_lm_perplexity"] == pytest.approx(
            np.exp(figures[f"{prefix}masked_lm_loss"])
        )
    # Every record has 14 tokens, of which 2 are masked.
    speed = figures["sequences_per_second"]
    assert figures["tokens_per_second"] == pytest.approx(14 * speed)
    layer = 14 * (4 * 12 * 12 + 2 * 12 * 20) + 14 * 14 * (12 + 12)
    heads = 2 * 12 * (12 + 31) + 12 * (12 + 2)
    assert figures["flops_per_second"] == pytest.approx(
        6 * (2 * layer + heads) * speed, rel=1e-5
    )
    results = json.loads((tmp_path / "out/eval_results.json").read_text())
    assert results == figures

    last = tmp_path / "out/checkpoints/step-00000600"
    assert (last / "vocab.txt").read_bytes() == vocab_file.read_bytes()
    assert load_tokenizer(last).do_lower_case  # as the records
    assert "- hidden_size: `12`" in (last / "README.md").read_text()
    model = build_pretraining_model(config)
    load_checkpoint(model, tmp_path / "out")
    arrays = load_file(last / "model.safetensors")
    for weight in model.weights:
        np.testing.assert_array_equal(weight.numpy(), arrays[weight.path])

    tokenizer = BertTokenizer(vocab_file)
    first, second = fill_mask(
        model, tokenizer, "a film is [MASK] bad , the [MASK]", top_k=2
    )
    # Chance is 1/31; the records hold few short sequences like this one.
    assert first[0][0] == "not" and first[0][1] > 0.25
    assert len(second) == 2
    with pytest.raises(ValueError, match="has no .MASK. to fill"):
        fill_mask(model, tokenizer, "the fox")


def test_the_tokenizer_of_the_records_is_kept(
    config, vocab_file, tmp_path, caplog
):
    file = tmp_path / "records.tfrecord"
    settings = TokenizerSettings(False, tokenize_chinese_chars=False)
    create_pretraining_data(
        LINES,
        [file],
        BertTokenizer.from_settings(vocab_file, settings),
        PretrainingDataConfig(max_seq_length=14, max_predictions_per_seq=3),
    )
    for given in (None, False, True):
        caplog.clear()
        changed = replace(CONFIG, do_lower_case=given)
        tokenizer = _load_tokenizer(
            [str(file)], config, changed, None, vocab_file
        )
        expected = replace(settings, do_lower_case=bool(given))
        assert tokenizer.settings == expected
        is_warned = "made with do_lower_case=False, but do_lower_case=T"
        assert (is_warned in caplog.text) == bool(given)


@pytest.mark.slow
def test_init_checkpoint_gives_the_initial_weights_and_the_vocabulary(
    shallow, records, tmp_path, vocab_file
):
    short = replace(CONFIG, num_train_steps=1, num_warmup_steps=1)
    # The rate is 0 at the last step, so no weight changes.
    pretrain(shallow, [records], tmp_path / "first", config=short)
    begin, end = (
        tmp_path / name / "checkpoints/step-00000001"
        for name in ("first", "second")
    )
    # As transformers 5 writes it, without a vocab.txt.
    values = json.loads(tokenizer_json(BertTokenizer(vocab_file)))
    values["normalizer"] = {"type": "BertNormalizer", "lowercase": True}
    (begin / "tokenizer.json").write_text(json.dumps(values))
    pretrain(
        shallow,
        [records],
        tmp_path / "second",
        checkpoint=tmp_path / "first",
        config=replace(short, random_seed=99),
    )
    assert (end / "vocab.txt").read_bytes() == vocab_file.read_bytes()
    first, second = (load_file(x / "model.safetensors") for x in (begin, end))
    for path, array in first.items():
        np.testing.assert_array_equal(second[path], array)


@pytest.mark.slow
def test_a_run_from_a_checkpoint_is_evaluated_first(
    config, records, tmp_path, vocab_file, monkeypatch
):
    short = replace(
        CONFIG, num_train_steps=6, num_warmup_steps=1, save_checkpoints_steps=2
    )
    first = pretrain(
        config,
        records,
        tmp_path / "first",
        eval_files=records,
        vocab_file=vocab_file,
        config=short,
    )
    evaluated = []

    def evaluate(steps, *args):
        evaluated.append(int(steps.optimizer.iterations))
        return evaluate_model(steps, *args)

    evaluate_model = Steps.evaluate
    monkeypatch.setattr(Steps, "evaluate", evaluate)

    def go_on(name, **eval_files):
        # The config and the vocabulary are those of the checkpoint.
        return pretrain(
            None,
            records,
            tmp_path / name,
            checkpoint=tmp_path / "first",
            config=short,
            **eval_files,
        )

    def rows():
        with (tmp_path / "second/history.csv").open() as file:
            return {
                int(row["step"]): {
                    name: row[name]
                    for name in row
                    if "minutes" not in name and "per_second" not in name
                }
                for row in csv.DictReader(file)
            }

    go_on("second", eval_files=records)
    assert evaluated == [0, 2, 4, 6]
    before = rows()
    assert list(before) == [0, 1, 2, 3, 4, 5, 6]
    for name in ("val_loss", "val_masked_lm_accuracy"):
        assert float(before[0][name]) == first[name]
    assert before[0]["loss"] == before[0]["learning_rate"] == ""

    # A resumed run does not repeat it.
    shutil.rmtree(tmp_path / "second/checkpoints/step-00000006")
    evaluated.clear()
    go_on("second", eval_files=records)
    assert evaluated == [6]
    assert rows() == before

    # Evaluating does not change the training.
    go_on("third")
    assert evaluated == [6]
    second, third = (
        tmp_path / name / "checkpoints/step-00000006"
        for name in ("second", "third")
    )
    for file in ("model.safetensors", "training_state.safetensors"):
        assert (second / file).read_bytes() == (third / file).read_bytes()
    assert (third / "vocab.txt").read_bytes() == vocab_file.read_bytes()


def test_wrong_input_is_refused(config, records, vocab_file, tmp_path):
    def run(bert_config, **changes):
        pretrain(
            bert_config,
            [records],
            tmp_path / "out",
            vocab_file=vocab_file,
            config=replace(CONFIG, **changes),
        )

    with pytest.raises(ValueError, match="Give a bert_config or a check"):
        run(None)
    with pytest.raises(ValueError, match="max_seq_length 99 is over"):
        run(config, max_seq_length=99)
    with pytest.raises(ValueError, match="vocab.txt has 31 word pieces, .* 33"):
        run(replace(config, vocab_size=33))
    with pytest.raises(ValueError, match="input_ids of length 14, but .* 13"):
        run(config, max_seq_length=13)
    # These records have masks.
    for rates in ({"mask_rate": 0.9}, {"do_whole_word_mask": True}):
        with pytest.raises(ValueError, match="records whose masks are already"):
            run(config, **rates)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "jit_compile", [pytest.param("off", marks=pytest.mark.slow), "on"]
)
def test_records_of_another_vocabulary_are_refused(
    shallow, records, tmp_path, jit_compile
):
    with pytest.raises(
        ValueError, match=r"token id \d+, but the vocab_size of the model is 9;"
    ):
        pretrain(
            replace(shallow, vocab_size=9),
            [records],
            tmp_path / "out",
            config=replace(CONFIG, jit_compile=jit_compile),
        )


def test_held_out_records_that_are_cut_off_are_named(
    shallow, records, tmp_path
):
    file = tmp_path / "cut.tfrecord"
    with open(records, "rb") as whole:
        file.write_bytes(whole.read(3000))
    with pytest.raises(ValueError, match="cut.tfrecord is damaged or cut off"):
        pretrain(
            shallow,
            [records],
            tmp_path / "out",
            eval_files=[str(file)],
            config=replace(CONFIG, num_train_steps=1),
        )
    assert not (tmp_path / "out" / "eval_results.json").exists()


@pytest.mark.slow
def test_without_next_sentence(shallow, records, vocab_file, tmp_path):
    figures = pretrain(
        shallow,
        [records],
        tmp_path / "out",
        eval_files=[records],
        vocab_file=vocab_file,
        config=replace(
            CONFIG, num_train_steps=2, next_sentence=False, do_lower_case=False
        ),
    )
    assert figures["val_loss"] == figures["val_masked_lm_loss"]
    assert not [name for name in figures if "next" in name]
    file = next((tmp_path / "out").glob("checkpoints/*/model.safetensors"))
    heads = {path.split("/")[0] for path in load_file(file)}
    assert heads == {"embeddings", "layer_0", "masked_lm"}
    # A model with both heads loads these weights.
    load_checkpoint(build_pretraining_model(shallow), tmp_path / "out")
    # Without a file that says so, this vocabulary is taken for uncased.
    assert not load_tokenizer(tmp_path / "out").do_lower_case


@pytest.mark.slow
def test_a_second_phase_continues_with_the_moments(config, records, tmp_path):
    def state(name):
        file = tmp_path / name / "checkpoints/step-00000003"
        return load_file(file / "training_state.safetensors")

    def run(name, **changes):
        pretrain(
            config,
            [records],
            tmp_path / name,
            checkpoint=None if name == "first" else tmp_path / "first",
            config=replace(CONFIG, num_train_steps=3, **changes),
        )
        return state(name)

    first = run("first")
    # The rate is so low that no weight changes. The moments of the second
    # phase are then the decayed moments of the first plus new gradients.
    continued = run("continued", init_moments=True, learning_rate=1e-30)
    fresh = run("fresh", learning_rate=1e-30)
    velocity = "AdamWeightDecay/0002"
    assert first[velocity].shape == (31, 12)
    np.testing.assert_allclose(
        continued[velocity],
        fresh[velocity] + 0.999**3 * first[velocity],
        rtol=1e-4,
        atol=1e-9,
    )
    # The schedule starts again.
    assert continued["AdamWeightDecay/0000"] == 3
    with pytest.raises(ValueError, match="another model or optimizer"):
        run("other", init_moments=True, optimizer="lamb")
    with pytest.raises(ValueError, match="give a checkpoint"):
        pretrain(
            config,
            [records],
            tmp_path / "none",
            config=replace(CONFIG, init_moments=True),
        )


@pytest.mark.slow
def test_records_without_masks_are_masked_during_training(
    config, vocab_file, tmp_path
):
    file = tmp_path / "dynamic.tfrecord"
    data_config = PretrainingDataConfig(
        max_seq_length=14, dupe_factor=1, dynamic_masking=True
    )
    create_pretraining_data(
        LINES, [file], BertTokenizer(vocab_file), data_config
    )

    def run(name, **changes):
        return pretrain(
            config,
            [str(file)],
            tmp_path / name,
            eval_files=[str(file)],
            vocab_file=vocab_file if name != "no vocabulary" else None,
            config=replace(
                CONFIG, num_train_steps=4, save_checkpoints_steps=2, **changes
            ),
        )

    figures = run("a")
    assert figures["val_masked_lm_loss"] == pytest.approx(np.log(31), abs=0.5)
    assert run("b")["val_loss"] == figures["val_loss"]
    whole_words = run("c", do_whole_word_mask=True, mask_rate=0.0)
    assert whole_words["val_loss"] != figures["val_loss"]
    with pytest.raises(ValueError, match="give the vocab_file, so that masks"):
        run("no vocabulary")
