"""Every config file loads; every model has its exact number of weights."""

import dataclasses
import inspect
import re
import unittest.mock
from pathlib import Path

import keras
import pytest

from keras_bert.commands import distill, finetune, pretrain
from keras_bert.config import BertConfig
from keras_bert.finetuning.run import FinetuningConfig
from keras_bert.kinds.registry import KINDS, known_kinds
from keras_bert.models.encoder import build_encoder
from keras_bert.pretraining.run import PretrainingConfig
from keras_bert.tasks.registry import get_task

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "configs"

# Weights of encoder and pooler. google-research/bert released these models.
NUM_WEIGHTS = {
    "bert_tiny": 4_385_920,
    "bert_mini": 11_170_560,
    "bert_small": 28_763_648,
    "bert_medium": 41_373_184,
    "bert_base_uncased": 109_482_240,
    "bert_base_cased": 108_310_272,
    "bert_base_multilingual_cased": 177_853_440,
    "bert_large_uncased": 335_141_888,
    "bert_large_cased": 333_579_264,
    # Table 6 of the paper: layers, hidden size, heads.
    "bert_3_768_12": 45_691_392,
    "bert_6_768_3": 66_955_008,
    "bert_6_768_12": 66_955_008,
    "bert_12_1024_16": 183_987_200,
    # Neither the direction nor dropout changes the number.
    "bert_tiny_left_to_right": 4_385_920,
    "bert_tiny_without_dropout": 4_385_920,
    "bert_base_uncased_left_to_right": 109_482_240,
    # The number in transformers, and our pooler: one dense layer. ModernBERT's
    # has a norm and no biases.
    "electra_small": 13_483_008 + 256 * 257,
    "electra_tiny_without_dropout": 4_385_920,
    "modernbert_base": 149_014_272 + 768 * 769,
}


def test_no_model_is_missing_from_the_table():
    files = {path.stem for path in (CONFIGS / "models").glob("*.json")}
    assert files == set(NUM_WEIGHTS)


@pytest.mark.parametrize("name", NUM_WEIGHTS)
def test_number_of_weights_of_the_network(name):
    # In this scope, weights have no values: a large model would take 1.3 GB.
    with keras.StatelessScope(initialize_variables=False):
        model = build_encoder(BertConfig.from_name(name))
    keras.utils.clear_session()
    assert model.count_params() == NUM_WEIGHTS[name]


@pytest.mark.parametrize(
    "path", sorted(CONFIGS.rglob("*.flags")), ids=lambda p: p.stem
)
def test_a_run_file_shows_its_command_and_uses_only_its_flags(path):
    lines = path.read_text().splitlines()
    command = re.fullmatch(r"# keras-bert (\w+) --flagfile=(\S+) .*", lines[0])
    assert ROOT / command[2] == path
    assert any("Expected:" in line for line in lines)
    run, config = {
        "pretrain": (pretrain.run, PretrainingConfig),
        "finetune": (finetune.run, FinetuningConfig),
        "distill": (distill.run, FinetuningConfig),
    }[command[1]]
    known = set(inspect.signature(run).parameters)
    tasks = re.findall(r"--task=(\S+\.py)", path.read_text())
    known_kinds()  # registers the package's own for good
    with unittest.mock.patch.dict(KINDS):  # forgets the kinds of these files
        for task in tasks:
            get_task(ROOT / task)
        classes = [config, *(kind.Settings for kind in known_kinds().values())]
    known |= {f.name for c in classes for f in dataclasses.fields(c)}
    flags = [line for line in lines if not line.startswith("#")]
    used = re.findall(r"--(\w+)=", "\n".join([lines[0], *flags]))
    assert set(used) <= known | {"flagfile"}
    for line in flags:
        assert line.startswith("--"), line
