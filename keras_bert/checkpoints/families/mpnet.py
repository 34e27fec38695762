"""MPNet's module names in transformers -> BERT's names."""

from keras_bert.checkpoints.families import roberta

_LAYER = "encoder.layer.{i}.attention"
PREFIX = "mpnet."
NAMES = roberta.NAMES | {
    f"{_LAYER}.attn.q": f"{_LAYER}.self.query",
    f"{_LAYER}.attn.k": f"{_LAYER}.self.key",
    f"{_LAYER}.attn.v": f"{_LAYER}.self.value",
    f"{_LAYER}.attn.o": f"{_LAYER}.output.dense",
    f"{_LAYER}.LayerNorm": f"{_LAYER}.output.LayerNorm",
}
HEADS = roberta.HEADS
