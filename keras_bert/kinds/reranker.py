"""A task with the relevance of a document to a query, as a CrossEncoder."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.regression import Regression
from keras_bert.kinds.settings import RerankerSettings
from keras_bert.training.objectives import Objective

# What sentence-transformers calls the activations.
_ACTIVATIONS = {
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
    "linear": "torch.nn.modules.linear.Identity",
}


def _binary_cross_entropy(labels, logits):
    logits = tf.cast(logits[:, 0], tf.float32)
    labels = tf.cast(tf.reshape(labels, [-1]), tf.float32)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)


class Reranker(Regression):
    """Answers with `score`, how well two texts fit, such as query and document.

    The score is the sigmoid of the network's output, or the output itself, as
    the setting `score_activation` says. `FinetunedModel.rank` sorts documents
    by it. The label of a row is a number from 0, for texts that do not fit, to
    1. The loss is the cross-entropy of the sigmoid.

    The SavedModel takes the text fields [B] and returns `score`, float32 [B].
    Its signature `regress` follows the Regress API of TensorFlow Serving.
    """

    name = "reranker"
    Settings = RerankerSettings
    objectives = {"logits": Objective(_binary_cross_entropy)}
    hub_text_fields = ("query", "document")

    @classmethod
    def has_head_of(cls, config):
        return (
            config.architecture == cls.head_names[0].architecture
            and config.problem_type is None
            and config.num_outputs == 1
        )

    @classmethod
    def hub_settings(cls, config, max_seq_length):
        values = config.values
        name = (
            # sentence-transformers since its release 4, and before it.
            (values.get("sentence_transformers") or {}).get("activation_fn")
            or values.get("sbert_ce_default_activation_function")
            or _ACTIVATIONS["sigmoid"]
        )
        known = {theirs: ours for ours, theirs in _ACTIVATIONS.items()}
        if name not in known:
            raise InputError(
                f"{config.file} has the activation {name!r}, but only "
                f"{' and '.join(known)} can be read here; choose another model."
            )
        return {
            "max_seq_length": max_seq_length,
            "score_activation": known[name],
        }

    @classmethod
    def hub_values(cls, settings):
        name = _ACTIVATIONS[settings.score_activation]
        return {"sentence_transformers": {"activation_fn": name}}

    def _label_range(self):
        return 0.0, 1.0

    def _scores(self, logits):
        is_linear = self.spec.settings.score_activation == "linear"
        return logits if is_linear else tf.sigmoid(logits)
