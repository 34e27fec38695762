"""A task with the question of pre-training: does one text follow another?"""

from __future__ import annotations

import dataclasses

import keras

from keras_bert.checkpoints.heads import NEXT_SENTENCE
from keras_bert.errors import InputError
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.kind import TaskSpec
from keras_bert.models.pretraining import build_pretraining_model


class NextSentence(Classification):
    """A classification of pairs with the head that pre-training has trained.

    There are two labels: the second text comes next, or it is a random one.
    """

    name = "next_sentence"
    num_text_fields = (2,)
    head_names = (NEXT_SENTENCE,)
    hub_text_fields = ("text", "next_text")
    problem_type = None

    @classmethod
    def has_head_of(cls, config):
        return config.architecture == NEXT_SENTENCE.architecture

    @classmethod
    def read_spec(cls, folder, bert_config) -> TaskSpec:
        spec = super().read_spec(folder, bert_config)
        # The config has no names for these outputs, whatever it says.
        return dataclasses.replace(spec, labels=("is_next", "random"))

    def _check(self):
        super()._check()
        if self.spec.settings.pooling != "pooled":
            raise InputError(
                "A next_sentence model has learned from the pooler; leave out "
                f"pooling={self.spec.settings.pooling}."
            )

    def build_network(self, bert_config):
        model = build_pretraining_model(bert_config)
        inputs = dict(model.input)
        del inputs["masked_lm_positions"]
        logits = model.output["next_sentence"]
        return keras.Model(
            inputs, {"logits": logits}, name="bert_next_sentence"
        )
