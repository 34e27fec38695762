"""Files that the TensorFlow classes of transformers 4.49 saved."""

import h5py
import numpy as np
import pytest

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.read import read_file
from keras_bert.errors import InputError
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import (
    build_classifier,
    build_multiple_choice,
    build_span_labeler,
    build_token_classifier,
)
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.models.rewired import with_hidden_states


def _labeled(build):
    return lambda config: build(config, num_labels=4)


_LOGITS = {"logits": "logits"}
# How to build the network, and its names of the expected outputs.
MODELS = {
    "TFBertModel": (build_encoder, {
        "sequence_output": "last_hidden_state",
        "pooled_output": "pooler_output"}),
    "TFBertForPreTraining": (build_pretraining_model, {
        "masked_lm": "prediction_logits",
        "next_sentence": "seq_relationship_logits"}),
    "TFBertForMaskedLM": (
        lambda config: build_pretraining_model(config, next_sentence=False),
        {"masked_lm": "logits"}),
    "TFBertForNextSentencePrediction": (
        build_pretraining_model, {"next_sentence": "logits"}),
    "TFBertForSequenceClassification": (_labeled(build_classifier), _LOGITS),
    "TFBertForTokenClassification": (
        _labeled(build_token_classifier), _LOGITS),
    "TFBertForQuestionAnswering": (build_span_labeler, {
        "start_logits": "start_logits", "end_logits": "end_logits"}),
    "TFBertForMultipleChoice": (build_multiple_choice, _LOGITS),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_transformers(shared, name):
    folder = shared / "golden/tf_h5" / name
    expected = np.load(folder / "expected.npz")
    build, outputs = MODELS[name]
    model = build(Checkpoint.of(folder).config)
    load_checkpoint(model, folder)
    if name != "TFBertForMultipleChoice":
        model = with_hidden_states(model, [0, 1, 2])
        outputs = outputs | {f"hidden_{i}": f"hidden_state_{i}" for i in (1, 2)}
    mask = expected["attention_mask"]
    places = np.broadcast_to(np.arange(mask.shape[-1]), mask.shape)
    features = {
        "input_ids": expected["input_ids"],
        "input_mask": mask,
        "segment_ids": expected["token_type_ids"],
        "masked_lm_positions": places,
    }
    found = model({x: features[x].astype("int32") for x in model.input})
    for ours, theirs in outputs.items():
        got, want = found[ours].numpy(), expected[theirs]
        if want.ndim > 1 and want.shape[:2] == mask.shape:
            got, want = got[mask == 1], want[mask == 1]  # not of padding
        np.testing.assert_allclose(got, want, atol=2e-5, err_msg=ours)


def test_the_weights_of_keras_itself_are_refused(tmp_path):
    file = tmp_path / "model.weights.h5"
    with h5py.File(file, "w") as opened:
        opened["layers/dense/vars/0"] = np.ones(3)
    with pytest.raises(
        InputError, match="'layers/dense/vars/0' is not a weight"
    ):
        read_file(file)


def test_copies_of_a_weight_must_be_equal(tmp_path):
    """A language model's head has a copy of the word embeddings."""
    weight = "tf_bert_for_masked_lm/bert/embeddings/word_embeddings/weight:0"
    with h5py.File(tmp_path / "tf_model.h5", "w") as opened:
        for number, layer in enumerate(("bert", "mlm___cls")):
            opened[f"{layer}/{weight}"] = np.full((31, 2), number, "f")
    with pytest.raises(InputError, match="'mlm.*' differs from its copy"):
        read_file(tmp_path / "tf_model.h5")
