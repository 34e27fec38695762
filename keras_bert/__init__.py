"""BERT, whole, for TensorFlow and Keras 3.

A public name is imported when it is first used: the network alone runs on
any Keras backend, where TensorFlow need not be installed.
"""

import importlib

__version__ = "0.1.0"

_HOMES = {
    "BertConfig": "keras_bert.config",
    "BertPreprocessor": "keras_bert.text.packing",
    "BertTokenizer": "keras_bert.text.tokenizer",
    "ExtractionConfig": "keras_bert.features",
    "FinetuningConfig": "keras_bert.finetuning",
    "InstanceDrawer": "keras_bert.data.dynamic",
    "MaskedLMMasker": "keras_bert.text.masking",
    "PretrainingConfig": "keras_bert.pretraining",
    "PretrainingDataConfig": "keras_bert.data.pretraining_config",
    "SpecialTokens": "keras_bert.text.vocab",
    "Task": "keras_bert.tasks.base",
    "TextSource": "keras_bert.data.source",
    "build_bilstm_classifier": "keras_bert.models.bilstm",
    "build_bilstm_token_classifier": "keras_bert.models.bilstm",
    "build_classifier": "keras_bert.models.classifier",
    "build_encoder": "keras_bert.models.encoder",
    "build_feature_tagger": "keras_bert.models.feature_tagger",
    "build_multiple_choice": "keras_bert.models.multiple_choice",
    "build_pretraining_model": "keras_bert.models.pretraining",
    "build_regressor": "keras_bert.models.classifier",
    "build_span_labeler": "keras_bert.models.span_labeler",
    "build_token_classifier": "keras_bert.models.token_classifier",
    "convert_checkpoint": "keras_bert.checkpoints.convert",
    "create_pretraining_data": "keras_bert.data.pretraining",
    "create_pretraining_data_with_beam": "keras_bert.data.beam",
    "expand_globs": "keras_bert.data.lines",
    "export_saved_model": "keras_bert.serving.export",
    "extract_features": "keras_bert.features",
    "fill_mask": "keras_bert.filling",
    "finetune": "keras_bert.finetuning",
    "get_task": "keras_bert.tasks",
    "learn_vocab": "keras_bert.text.vocab_learner",
    "load_checkpoint": "keras_bert.checkpoints.load",
    "load_finetuned": "keras_bert.finetuned",
    "pretrain": "keras_bert.pretraining",
    "read_lines": "keras_bert.data.lines",
    "search": "keras_bert.grid_search",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"keras_bert has no public name {name!r}.")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return [*__all__, "__version__"]
