"""DistilBERT's module names in transformers -> BERT's names."""

_LAYER = "transformer.layer.{i}"
_BERT = "encoder.layer.{i}"
PREFIX = "distilbert."
NAMES = {
    f"{_LAYER}.attention.q_lin": f"{_BERT}.attention.self.query",
    f"{_LAYER}.attention.k_lin": f"{_BERT}.attention.self.key",
    f"{_LAYER}.attention.v_lin": f"{_BERT}.attention.self.value",
    f"{_LAYER}.attention.out_lin": f"{_BERT}.attention.output.dense",
    f"{_LAYER}.sa_layer_norm": f"{_BERT}.attention.output.LayerNorm",
    f"{_LAYER}.ffn.lin1": f"{_BERT}.intermediate.dense",
    f"{_LAYER}.ffn.lin2": f"{_BERT}.output.dense",
    f"{_LAYER}.output_layer_norm": f"{_BERT}.output.LayerNorm",
    "vocab_transform": "cls.predictions.transform.dense",
    "vocab_layer_norm": "cls.predictions.transform.LayerNorm",
    "vocab_projector.bias": "cls.predictions.bias",
    "vocab_projector": "cls.predictions.decoder",
}
HEADS = {
    "MultipleChoice": {"pre_classifier": "pooler.dense"},
    "SequenceClassification": {"pre_classifier": "pooler.dense"},
}
