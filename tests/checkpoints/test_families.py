"""Families of encoders, as transformers saves them, in and out."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from directional_derivatives import directional_derivatives
from safetensors.numpy import load_file, save_file

from keras_bert import models
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.huggingface import from_huggingface
from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.names import StoredArray
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.families import FAMILIES
from keras_bert.family_configs import translate_huggingface
from keras_bert.models.rewired import with_hidden_states, with_packed_rows

# Folders in the golden results with a model of each head. A few of them, of
# all families, are not slow tests.
_QUICK = """
    distilbert/DistilBertForSequenceClassification electra/ElectraForMaskedLM
    electra_base/ElectraModel gte/GteForTokenClassification
    modernbert/ModernBertForMaskedLM modernbert/ModernBertModel
    modernbert/ModernBertForTokenClassification mpnet/MPNetModel
    nomic_bert/NomicBertForSequenceClassification
    roberta/RobertaForMaskedLM xlm_roberta/XLMRobertaForSequenceClassification
""".split()
_HEADS = (
    ("MaskedLM", "SequenceClassification", "TokenClassification", ""),
    ("QuestionAnswering", "MultipleChoice"),
)
_CLASSES = {
    "distilbert/DistilBert": ("", *_HEADS[0][:3], *_HEADS[1]),
    "electra/Electra": ("", *_HEADS[0][:3], "PreTraining", _HEADS[1][0]),
    "electra_base/Electra": ("", "SequenceClassification"),
    "gte/Gte": _HEADS[0],
    "modernbert/ModernBert": _HEADS[0],
    "mpnet/MPNet": _HEADS[0],
    "nomic_bert/NomicBert": _HEADS[0],
    "roberta/Roberta": (*_HEADS[0], _HEADS[1][0]),
    "xlm_roberta/XLMRoberta": ("", *_HEADS[0][1:3]),
}
NAMES = [
    begin + (f"For{head}" if head else "Model")
    for begin, heads in _CLASSES.items()
    for head in heads
]
FOLDERS = pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[] if x in _QUICK else pytest.mark.slow)
        for x in NAMES
    ],
)
_BUILD = {
    "MaskedLM": lambda c: models.build_pretraining_model(
        c, next_sentence=False
    ),
    "MultipleChoice": models.build_multiple_choice,
    "QuestionAnswering": models.build_span_labeler,
    "SequenceClassification": lambda c: models.build_classifier(
        c, num_labels=4
    ),
    "TokenClassification": lambda c: models.build_token_classifier(
        c, num_labels=4
    ),
}


def _folder(shared, name) -> Path:
    golden = shared / "golden"
    is_first = name.startswith("mpnet")
    return golden / name if is_first else golden / "families" / name


def _model(folder):
    architecture = json.loads((folder / "config.json").read_text())
    head = architecture["architectures"][0].partition("For")[2]
    build = _BUILD.get(head, models.build_encoder)
    model = build(Checkpoint.of(folder).config)
    load_checkpoint(model, folder)
    return model


def _features(model, values):
    ids = values["input_ids"].astype("int32")
    places = np.arange(ids.shape[1], dtype="int32")
    features = {
        "input_ids": ids,
        "input_mask": values["attention_mask"].astype("int32"),
        "segment_ids": values.get("token_type_ids", ids * 0).astype("int32"),
        "masked_lm_positions": np.tile(places, (len(ids), 1)),
    }
    return {name: features[name] for name in model.input}


def test_all_folders_are_here(shared):
    golden = shared / "golden"
    folders = [*golden.glob("families/*/*"), *golden.glob("mpnet/*")]
    assert len(folders) == len(NAMES) == 38
    assert {folder.name for folder in folders} == {
        name.split("/")[1] for name in NAMES
    }


@FOLDERS
def test_outputs_are_those_of_transformers(shared, name):
    folder = _folder(shared, name)
    values = dict(np.load(folder / "expected.npz"))
    model = _model(folder)
    features = _features(model, values)
    if values["input_ids"].ndim == 2:
        num_layers = Checkpoint.of(folder).config.num_hidden_layers
        model = with_hidden_states(model, range(num_layers + 1))
    outputs = {x: y.numpy() for x, y in model(features).items()}
    names = {"last_hidden_state": "sequence_output"}
    names["pooler_output"] = "pooled_output"
    names["logits"] = "logits" if "logits" in outputs else "masked_lm"
    is_token = values["attention_mask"] == 1
    compared = 0
    for theirs, want in values.items():
        ours = names.get(theirs, theirs.replace("hidden_state_", "hidden_"))
        if ours not in outputs or "ForPreTraining" in name and "log" in theirs:
            continue
        got = outputs[ours]
        if want.ndim > 1 and want.shape[:2] == is_token.shape:
            got, want = got[is_token], want[is_token]
        # Both computed in float32. In float64, numbers of the size 20 differ
        # by 2e-5 from each of them, and the logits of transformers for a
        # masked LM by up to 3.5e-5; ours differ by processor, up to 3.9e-5.
        tolerance = 2e-5 * max(1, np.abs(want).max() / 8)
        if ours == "masked_lm":
            tolerance = max(tolerance, 5e-5)
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)
        compared += 1
    assert compared >= 1


@FOLDERS
def test_written_back_it_is_the_same(shared, tmp_path, name):
    folder = _folder(shared, name)
    config = Checkpoint.of(folder).config
    convert_checkpoint(folder, tmp_path / "ours", to="keras")
    assert Checkpoint.of(tmp_path / "ours").config == config
    convert_checkpoint(tmp_path / "ours", tmp_path / "back", to="huggingface")
    before, after = (
        load_file(x / "model.safetensors") for x in (folder, tmp_path / "back")
    )
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[x], after[x]) for x in before)
    old, new = (
        json.loads((x / "config.json").read_text())
        for x in (folder, tmp_path / "back")
    )
    assert translate_huggingface(new) == {
        **translate_huggingface(old),
        "layer_norm_eps": config.layer_norm_eps,
        "type_vocab_size": config.type_vocab_size,
    }
    for key in ("architectures", "model_type"):
        assert new[key] == old[key]


# Values of config.json as their authors released them, and what they mean.
RELEASED = {
    "nomic-embed-text-v1.5": (
        {
            "model_type": "nomic_bert",
            "architectures": ["NomicBertModel"],
            "activation_function": "swiglu",
            "attn_pdrop": 0.0,
            "causal": False,
            "dense_seq_output": True,
            "embd_pdrop": 0.0,
            "fused_bias_fc": True,
            "layer_norm_epsilon": 1e-12,
            "max_trained_positions": 2048,
            "mlp_fc1_bias": False,
            "n_embd": 36,
            "n_head": 3,
            "n_inner": 52,
            "n_layer": 2,
            "n_positions": 8192,
            "pad_vocab_size_multiple": 64,
            "prenorm": False,
            "qkv_proj_bias": False,
            "resid_pdrop": 0.0,
            "rotary_emb_base": 1000,
            "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": False,
            "rotary_emb_scale_base": None,
            "rotary_scaling_factor": None,
            "summary_type": "cls_index",
            "type_vocab_size": 2,
            "use_flash_attn": True,
            "use_rms_norm": False,
            "vocab_size": 31,
        },
        {
            "hidden_size": 36,
            "num_attention_heads": 3,
            "intermediate_size": 52,
            "num_hidden_layers": 2,
            "max_position_embeddings": 8192,
            "rope_theta": 1000,
            "hidden_act": "silu",
            "gated_feed_forward": True,
            "biases": "norm head",
        },
    ),
    "gte-base-en-v1.5": (
        {
            "model_type": "new",
            "architectures": ["NewModel"],
            "attention_probs_dropout_prob": 0.0,
            "hidden_act": "gelu",
            "hidden_size": 36,
            "intermediate_size": 52,
            "layer_norm_eps": 1e-12,
            "layer_norm_type": "layer_norm",
            "logn_attention_clip1": False,
            "logn_attention_scale": False,
            "max_position_embeddings": 8192,
            "num_attention_heads": 3,
            "num_hidden_layers": 2,
            "pack_qkv": True,
            "position_embedding_type": "rope",
            "rope_scaling": {"factor": 2.0, "type": "ntk"},
            "rope_theta": 500000,
            "type_vocab_size": 0,
            "unpad_inputs": False,
            "use_memory_efficient_attention": False,
            "vocab_size": 31,
        },
        {
            "family": "gte",
            "rope_theta": 1_000_000,
            "rope_scaling_factor": 2 ** (2 / 12),
            "type_vocab_size": 0,
            "biases": "attention output norm head",
        },
    ),
    "ModernBERT-base": (
        {
            "model_type": "modernbert",
            "architectures": ["ModernBertForMaskedLM"],
            "attention_bias": False,
            "classifier_pooling": "mean",
            "decoder_bias": True,
            "deterministic_flash_attn": False,
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160000.0,
            "hidden_activation": "gelu",
            "hidden_size": 36,
            "intermediate_size": 52,
            "layer_norm_eps": 1e-05,
            "local_attention": 128,
            "local_rope_theta": 10000.0,
            "max_position_embeddings": 8192,
            "norm_bias": False,
            "norm_eps": 1e-05,
            "num_attention_heads": 3,
            "num_hidden_layers": 5,
            "position_embedding_type": "sans_pos",  # as Ettin and mmBERT
            "sparse_pred_ignore_index": -100,
            "vocab_size": 31,
        },
        {
            "local_attention": 128,
            "global_attn_every_n_layers": 3,
            "rope_theta": 160000.0,
            "local_rope_theta": 10000.0,
            "norm_placement": "before",
            "biases": "",
            "pooling": "mean",
            "prediction_head": True,
        },
    ),
}


@pytest.mark.parametrize("name", RELEASED)
def test_the_config_of_a_release(name):
    values, expected = RELEASED[name]
    config = BertConfig.from_dict(values)
    fields = {key: getattr(config, key) for key in expected}
    assert fields == pytest.approx(expected)


def test_other_spellings_of_a_config():
    values, _ = RELEASED["ModernBERT-base"]
    given = {**values, "layer_norm_eps": 0.5, "local_rope_theta": None}
    config = BertConfig.from_dict(given)
    assert config.layer_norm_eps == 1e-5  # norm_eps, as transformers reads
    assert config.local_rope_theta == config.rope_theta == 160_000
    del given["global_rope_theta"], given["local_rope_theta"]
    config = BertConfig.from_dict({**given, "global_rope_theta": None})
    assert (config.rope_theta, config.local_rope_theta) == (160_000, 10_000)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "nomic_bert", "rotary_emb_fraction": 0.5},
         "rotary_emb_fraction: 0.5, but .* nomic_bert, .* supports only 1.0"),
        ({"model_type": "nomic_bert", "num_attention_heads": 3, "head_dim": 5,
          "hidden_size": 12}, "head_dim of 5"),
        ({"model_type": "gte", "rope_parameters": {"rope_type": "yarn"}},
         "only the types default, linear and ntk, with"),
        ({"model_type": "nomic_bert",
          "rope_parameters": {"partial_rotary_factor": 0.5}},
         "partial_rotary_factor': 0.5}, but .* the types default, linear"),
        ({"model_type": "new", "rope_scaling":
          {"type": "ntk", "factor": 4, "mixed_b": 0.6}},
         "'mixed_b': 0.6}, but .* with rope_theta and factor; give another"),
        ({"model_type": "modernbert", "global_attn_every_n_layers": 0},
         "global_attn_every_n_layers is 0, but must be above"),
        ({"model_type": "distilbert", "layer_norm_eps": 1e-5},
         "layer_norm_eps: 1e-05, but .* distilbert, .* supports only 1e-12;"),
        ({"model_type": "new", "logn_attention_scale": True},
         "logn_attention_scale: True"),
        ({"model_type": "modernbert", "num_hidden_layers": 3,
          "layer_types": ["sliding_attention", "full_attention",
                          "full_attention"]}, "every n-th layer"),
        ({"model_type": "mpnet", "relative_attention_num_buckets": 16},
         "relative_attention_num_buckets: 16"),
        ({"model_type": "roberta", "position_embedding_type": "relative_key"},
         "'relative_key'"),
        ({"model_type": "electra", "summary_type": "last"}, "summary_type"),
        ({"model_type": "gte", "hidden_size": 9, "num_attention_heads": 3},
         "A head is 3 wide, but rotary positions need an even width"),
        ({"model_type": "distilbert", "conv_act": "gelu"},
         "conv_act: 'gelu', which distilbert does not have"),
    ],
)  # fmt: skip
def test_what_a_family_does_not_have_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        BertConfig.from_dict({"vocab_size": 31, **values})


@pytest.mark.parametrize("family", ["mpnet", "roberta", "xlm-roberta"])
def test_what_a_config_does_not_say_of_positions(family):
    """The values are those of transformers."""
    config = BertConfig.from_dict({"model_type": family, "vocab_size": 31})
    assert config.first_position == 2  # after the padding id 1
    assert config.max_position_embeddings == 510


def test_a_prefix_of_another_family_is_refused(tmp_path):
    """RoBERTa's weights have BERT's names, but for the prefix."""
    values = {"vocab_size": 31, "model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(values))
    name = "roberta.embeddings.word_embeddings.weight"
    save_file({name: np.zeros([31, 2])}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=f"{name}, .* not belong to BERT;"):
        _ = Checkpoint.of(tmp_path).arrays
    values["model_type"] = "electra"
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=f"{name}, .* belong to electra;"):
        _ = Checkpoint.of(tmp_path).arrays


@pytest.mark.parametrize("is_first", [True, False])
def test_a_pooler_that_the_classifier_does_not_read(is_first, logged):
    """Old files of RoBERTa's classifiers have one, which is not trained."""
    read, unused = (
        StoredArray((2, 2), lambda x=x: np.full([2, 2], x)) for x in (1, 2)
    )
    stored = {
        "classifier.dense.weight": read,
        "roberta.pooler.dense.weight": unused,
        "roberta.pooler.dense.bias": unused,
    }
    names = list(stored) if is_first else list(stored)[::-1]
    found = from_huggingface(
        {name: stored[name] for name in names},
        "a.bin",
        family="roberta",
        architectures=["BertForSequenceClassification"],
    )
    assert found.keys() == {"pooler/dense/kernel"}
    assert found["pooler/dense/kernel"].equals(read)
    assert "the output layer does not use pooler" in logged.text


@pytest.mark.parametrize("is_first", [True, False])
def test_two_names_of_one_weight_are_refused(is_first):
    names = ["classifier.weight", "classifier.out_proj.weight"]
    array = StoredArray((2, 2), lambda: np.zeros([2, 2]))
    with pytest.raises(InputError, match="are the same weight; remove one"):
        from_huggingface(
            dict.fromkeys(names if is_first else names[::-1], array),
            "a.bin",
            family="roberta",
            architectures=["BertForSequenceClassification"],
        )


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("distilbert", (768, 6, 12, 3072, None)),
        ("electra", (256, 12, 4, 1024, 128)),
        ("modernbert", (768, 22, 12, 1152, None)),
    ],
)
def test_absent_sizes_are_those_of_transformers(family, sizes):
    """A wrong number of heads or layers may load without an error."""
    found = BertConfig.from_dict({"vocab_size": 31, "model_type": family})
    assert sizes == (
        found.hidden_size,
        found.num_hidden_layers,
        found.num_attention_heads,
        found.intermediate_size,
        found.embedding_size,
    )


SIZES = {
    "vocab_size": 31,
    "hidden_size": 12,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def _config(family):
    switches = dict(FAMILIES[family].switches)
    if family == "modernbert":  # the layers 0 and 3 have full attention
        switches |= {"local_attention": 4, "biases": "", "num_hidden_layers": 4}
    return BertConfig(**{**SIZES, **switches, "family": family})


# The networks of XLM-RoBERTa are those of RoBERTa.
@pytest.fixture(params=[x for x in FAMILIES if x != "xlm-roberta"])
def config(request):
    return _config(request.param)


def _batch(length, num_tokens):
    ids = np.random.default_rng(3).integers(5, 31, [2, length])
    mask = np.zeros([2, length], "int32")
    mask[0, :num_tokens], mask[1] = 1, 1
    return {
        "input_ids": ids.astype("int32"),
        "input_mask": mask,
        "segment_ids": np.zeros([2, length], "int32"),
    }


def test_padding_changes_no_token(config):
    encoder = models.build_encoder(config)
    batch = _batch(length=37, num_tokens=11)
    alone = {name: x[:1, :11] for name, x in batch.items()}
    got = encoder(batch)["sequence_output"][0, :11]
    want = encoder(alone)["sequence_output"][0]
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_texts_in_a_row_do_not_read_each_other(config):
    model = models.build_classifier(config, num_labels=3)
    batch = _batch(length=9, num_tokens=9)
    row = {name: x.reshape(1, 18) for name, x in batch.items()}
    row["input_mask"] = np.repeat([[1, 2]], 9, axis=1).astype("int32")
    got = with_packed_rows(model)(row)["logits"][0]
    np.testing.assert_allclose(got, model(batch)["logits"], atol=1e-5)


@pytest.mark.slow
def test_near_tokens_in_blocks():
    """Blocks are used if the length is not known or large."""
    encoder = models.build_encoder(_config("modernbert"))
    specs = {
        name: tf.TensorSpec([None, None], tf.int32, name)
        for name in _batch(length=2, num_tokens=1)
    }
    function = tf.function(lambda x: encoder(x)["sequence_output"])
    in_blocks = function.get_concrete_function(specs)
    for length in (2, 3, 13, 24, 31):
        batch = _batch(length=length, num_tokens=max(1, length - 2))
        want = encoder(batch)["sequence_output"].numpy()
        np.testing.assert_allclose(in_blocks(batch), want, atol=1e-5)


def test_the_config_survives_in_a_keras_file(config, tmp_path):
    model = models.build_pretraining_model(config, next_sentence=False)
    assert config_of_network(model) == config
    batch = _batch(length=7, num_tokens=5)
    batch["masked_lm_positions"] = np.array([[1, 3], [2, 0]], "int32")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert config_of_network(loaded) == config
    np.testing.assert_array_equal(
        loaded(batch)["masked_lm"], model(batch)["masked_lm"]
    )


def test_gradients_are_those_of_finite_differences(config):
    """Along a random direction of all weights."""
    model = models.build_classifier(config, num_labels=3)
    batch, rng = _batch(length=9, num_tokens=6), np.random.default_rng(7)
    for weight in model.weights:  # far from the small first values
        weight.assign(rng.normal(0.3, 0.5, weight.shape))

    def loss():
        return tf.reduce_sum(model(batch)["logits"] * [0.3, -0.7, 1.1])

    expected, found = directional_derivatives(
        loss, model.trainable_weights, rng, size=1e-3
    )
    assert found == pytest.approx(expected, rel=0.02, abs=0.02)
