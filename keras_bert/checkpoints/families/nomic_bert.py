"""nomic-embed-text's names, as released and in transformers 5 -> BERT's."""

_LAYER = "encoder.layers.{i}"
_BERT = "encoder.layer.{i}"
_QKV = tuple(f"{_BERT}.attention.self.{x}" for x in ("query", "key", "value"))
PREFIX = "nomic_bert."
FORMER_PREFIX = "bert."
NAMES = {
    "emb_ln": "embeddings.LayerNorm",
    f"{_LAYER}.attn.Wqkv": _QKV,
    f"{_LAYER}.attn.out_proj": f"{_BERT}.attention.output.dense",
    f"{_LAYER}.norm1": f"{_BERT}.attention.output.LayerNorm",
    f"{_LAYER}.mlp.fc12": f"{_BERT}.intermediate.dense",
    f"{_LAYER}.mlp.fc11": f"{_BERT}.gate.dense",
    f"{_LAYER}.mlp.fc2": f"{_BERT}.output.dense",
    f"{_LAYER}.norm2": f"{_BERT}.output.LayerNorm",
    "cls.predictions.transform.layer_norm": (
        "cls.predictions.transform.LayerNorm"
    ),
    "layers.{i}.self_attn.q_proj": _QKV[0],
    "layers.{i}.self_attn.k_proj": _QKV[1],
    "layers.{i}.self_attn.v_proj": _QKV[2],
    "layers.{i}.self_attn.o_proj": f"{_BERT}.attention.output.dense",
    "layers.{i}.post_attention_layernorm": (
        f"{_BERT}.attention.output.LayerNorm"
    ),
    "layers.{i}.mlp.gate_proj": f"{_BERT}.intermediate.dense",
    "layers.{i}.mlp.up_proj": f"{_BERT}.gate.dense",
    "layers.{i}.mlp.down_proj": f"{_BERT}.output.dense",
    "layers.{i}.post_mlp_layernorm": f"{_BERT}.output.LayerNorm",
}
HEADS: dict[str, dict[str, str]] = {}
