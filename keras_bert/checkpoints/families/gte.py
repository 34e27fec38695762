"""GTE v1.5's module names, as released and in transformers 5 -> BERT's."""

from keras_bert.checkpoints.families import nomic_bert

_LAYER = "encoder.layer.{i}"
PREFIX = "gte."
FORMER_PREFIX = "new."
NAMES = {
    f"{_LAYER}.attention.qkv_proj": nomic_bert.NAMES[
        "encoder.layers.{i}.attn.Wqkv"
    ],
    f"{_LAYER}.attention.o_proj": f"{_LAYER}.attention.output.dense",
    f"{_LAYER}.attn_ln": f"{_LAYER}.attention.output.LayerNorm",
    f"{_LAYER}.mlp.up_gate_proj": (
        f"{_LAYER}.gate.dense",
        f"{_LAYER}.intermediate.dense",
    ),
    f"{_LAYER}.mlp.down_proj": f"{_LAYER}.output.dense",
    f"{_LAYER}.mlp_ln": f"{_LAYER}.output.LayerNorm",
    "lm_head.dense": "cls.predictions.transform.dense",
    "lm_head.norm": "cls.predictions.transform.LayerNorm",
    "lm_head.layer_norm": "cls.predictions.transform.LayerNorm",
    "lm_head.decoder.bias": "cls.predictions.bias",
    "lm_head.decoder": "cls.predictions.decoder",
} | {
    name: bert
    for name, bert in nomic_bert.NAMES.items()
    if name.startswith("layers.")
}
HEADS: dict[str, dict[str, str]] = {}
