"""Module names of ModernBERT, Ettin and mmBERT in transformers -> BERT's."""

from keras_bert.checkpoints.families import nomic_bert

_LAYER = "layers.{i}"
_BERT = "encoder.layer.{i}"
PREFIX = "model."
NAMES = {
    "embeddings.tok_embeddings": "embeddings.word_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    f"{_LAYER}.attn.Wqkv": nomic_bert.NAMES["encoder.layers.{i}.attn.Wqkv"],
    f"{_LAYER}.attn.Wo": f"{_BERT}.attention.output.dense",
    f"{_LAYER}.attn_norm": f"{_BERT}.attention.output.LayerNorm",
    f"{_LAYER}.mlp.Wi": (f"{_BERT}.intermediate.dense", f"{_BERT}.gate.dense"),
    f"{_LAYER}.mlp.Wo": f"{_BERT}.output.dense",
    f"{_LAYER}.mlp_norm": f"{_BERT}.output.LayerNorm",
    "decoder.bias": "cls.predictions.bias",
    "decoder": "cls.predictions.decoder",
}
_OF_TOKENS = {
    "head.dense": "token_head.dense",
    "head.norm": "token_head.LayerNorm",
}
_OF_TEXTS = {"head.dense": "pooler.dense", "head.norm": "pooler.LayerNorm"}
HEADS = {
    "MaskedLM": {
        "head.dense": "cls.predictions.transform.dense",
        "head.norm": "cls.predictions.transform.LayerNorm",
    },
    "MultipleChoice": _OF_TEXTS,
    "QuestionAnswering": _OF_TOKENS | {"classifier": "qa_outputs"},
    "SequenceClassification": _OF_TEXTS,
    "TokenClassification": _OF_TOKENS,
}
