"""ELECTRA's module names in transformers -> BERT's names."""

from keras_bert.checkpoints.families import roberta

PREFIX = "electra."
NAMES = {
    "generator_predictions.dense": "cls.predictions.transform.dense",
    "generator_predictions.LayerNorm": "cls.predictions.transform.LayerNorm",
    "generator_lm_head.bias": "cls.predictions.bias",
    "generator_lm_head": "cls.predictions.decoder",
    "discriminator_predictions.dense": "replaced_tokens.dense",
    "discriminator_predictions.dense_prediction": "replaced_tokens.output",
}
HEADS = roberta.HEADS | {
    "MultipleChoice": {"sequence_summary.summary": "pooler.dense"},
}
