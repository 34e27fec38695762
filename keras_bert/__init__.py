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
    "ExtractionConfig": "keras_bert.features.extract",
    "FinetuningConfig": "keras_bert.finetuning.run",
    "InstanceDrawer": "keras_bert.pretraining.read.records_to_pairs",
    "MaskedLMMasker": "keras_bert.text.masking",
    "PretrainingConfig": "keras_bert.pretraining.run",
    "PretrainingDataConfig": "keras_bert.pretraining.write.config",
    "SpecialTokens": "keras_bert.text.vocab",
    "Task": "keras_bert.tasks.base",
    "TextSource": "keras_bert.pretraining.write.source",
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
    "create_pretraining_data": "keras_bert.pretraining.write.run",
    "create_pretraining_data_with_beam": "keras_bert.pretraining.write.beam",
    "expand_globs": "keras_bert.pretraining.write.source_to_lines",
    "export_saved_model": "keras_bert.serving.export",
    "extract_features": "keras_bert.features.extract",
    "fill_mask": "keras_bert.pretraining.fill_mask",
    "finetune": "keras_bert.finetuning.run",
    "get_task": "keras_bert.tasks",
    "learn_vocab": "keras_bert.text.vocab_learner",
    "load_checkpoint": "keras_bert.checkpoints.load",
    "load_finetuned": "keras_bert.finetuning.finetuned_model",
    "pretrain": "keras_bert.pretraining.run",
    "read_lines": "keras_bert.pretraining.write.source_to_lines",
    "search": "keras_bert.finetuning.search",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"keras_bert has no public name {name!r}.")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return [*__all__, "__version__"]
