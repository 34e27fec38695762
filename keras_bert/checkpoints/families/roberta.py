"""Module names of RoBERTa and XLM-RoBERTa in transformers -> BERT's names."""

PREFIX = "roberta."
NAMES = {
    "lm_head.dense": "cls.predictions.transform.dense",
    "lm_head.layer_norm": "cls.predictions.transform.LayerNorm",
    "lm_head.bias": "cls.predictions.bias",
    "lm_head.decoder": "cls.predictions.decoder",
}
HEADS = {
    "SequenceClassification": {
        "classifier.dense": "pooler.dense",
        "classifier.out_proj": "classifier",
    },
}
