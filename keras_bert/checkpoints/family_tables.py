"""Each family's module names in transformers -> BERT's names.

A module that is in no table has BERT's name.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

# A tuple of BERT names means that the module's matrix holds the matrices of
# several BERT modules, one below the other.
Names = Mapping[str, str | tuple[str, ...]]
_FEW_CLASSES = {"MaskedLM", "SequenceClassification", "TokenClassification"}
_CLASSES = {*_FEW_CLASSES, "MultipleChoice", "QuestionAnswering"}


class FamilyNames(NamedTuple):
    """The names of one family.

    Attributes:
        prefix: The beginning of the encoder's names in a model with a head.
        names: The names in all models of the family.
        heads: The names in models with a head, keyed by what follows "For" in
            the name of the model's class.
        classes: What follows "For" in the names of the classes that
            transformers has for the family. For BERT, all heads have a class.
        former_prefix: The `prefix` in the family's first release.
    """

    prefix: str
    names: Names = {}
    heads: Mapping[str, Names] = {}
    classes: Collection[str] = _CLASSES
    former_prefix: str = ""


_LAYER = "encoder.layer.{i}"
_QKV = tuple(f"{_LAYER}.attention.self.{x}" for x in ("query", "key", "value"))
_ATTENTION_OUTPUT = f"{_LAYER}.attention.output.dense"
_ATTENTION_NORM = f"{_LAYER}.attention.output.LayerNorm"
_UP, _GATE = f"{_LAYER}.intermediate.dense", f"{_LAYER}.gate.dense"
_DOWN = f"{_LAYER}.output.dense"
_NORM = f"{_LAYER}.output.LayerNorm"
_TRANSFORM = "cls.predictions.transform.dense"
_TRANSFORM_NORM = "cls.predictions.transform.LayerNorm"
_DECODER, _BIAS = "cls.predictions.decoder", "cls.predictions.bias"

_POOLER = {"pre_classifier": "pooler.dense"}
_DISTILBERT = FamilyNames(
    "distilbert.",
    {
        "transformer.layer.{i}.attention.q_lin": _QKV[0],
        "transformer.layer.{i}.attention.k_lin": _QKV[1],
        "transformer.layer.{i}.attention.v_lin": _QKV[2],
        "transformer.layer.{i}.attention.out_lin": _ATTENTION_OUTPUT,
        "transformer.layer.{i}.sa_layer_norm": _ATTENTION_NORM,
        "transformer.layer.{i}.ffn.lin1": _UP,
        "transformer.layer.{i}.ffn.lin2": _DOWN,
        "transformer.layer.{i}.output_layer_norm": _NORM,
        "vocab_transform": _TRANSFORM,
        "vocab_layer_norm": _TRANSFORM_NORM,
        "vocab_projector.bias": _BIAS,
        "vocab_projector": _DECODER,
    },
    {"MultipleChoice": _POOLER, "SequenceClassification": _POOLER},
)
_ROBERTA = FamilyNames(
    "roberta.",
    {
        "lm_head.dense": _TRANSFORM,
        "lm_head.layer_norm": _TRANSFORM_NORM,
        "lm_head.bias": _BIAS,
        "lm_head.decoder": _DECODER,
    },
    {
        "SequenceClassification": {
            "classifier.dense": "pooler.dense",
            "classifier.out_proj": "classifier",
        },
    },
)
_ELECTRA = FamilyNames(
    "electra.",
    {
        "generator_predictions.dense": _TRANSFORM,
        "generator_predictions.LayerNorm": _TRANSFORM_NORM,
        "generator_lm_head.bias": _BIAS,
        "generator_lm_head": _DECODER,
        "discriminator_predictions.dense": "replaced_tokens.dense",
        "discriminator_predictions.dense_prediction": "replaced_tokens.output",
    },
    {
        **_ROBERTA.heads,
        "MultipleChoice": {"sequence_summary.summary": "pooler.dense"},
    },
    classes={*_CLASSES, "PreTraining"},
)
_MPNET = _ROBERTA._replace(
    prefix="mpnet.",
    names={
        **_ROBERTA.names,
        f"{_LAYER}.attention.attn.q": _QKV[0],
        f"{_LAYER}.attention.attn.k": _QKV[1],
        f"{_LAYER}.attention.attn.v": _QKV[2],
        f"{_LAYER}.attention.attn.o": _ATTENTION_OUTPUT,
        f"{_LAYER}.attention.LayerNorm": _ATTENTION_NORM,
    },
)
# The names of nomic-embed-text and GTE in transformers 5.
_NEW_LAYER = {
    "layers.{i}.self_attn.q_proj": _QKV[0],
    "layers.{i}.self_attn.k_proj": _QKV[1],
    "layers.{i}.self_attn.v_proj": _QKV[2],
    "layers.{i}.self_attn.o_proj": _ATTENTION_OUTPUT,
    "layers.{i}.post_attention_layernorm": _ATTENTION_NORM,
    "layers.{i}.mlp.gate_proj": _UP,
    "layers.{i}.mlp.up_proj": _GATE,
    "layers.{i}.mlp.down_proj": _DOWN,
    "layers.{i}.post_mlp_layernorm": _NORM,
}
_NOMIC = FamilyNames(
    "nomic_bert.",
    {
        "emb_ln": "embeddings.LayerNorm",
        "encoder.layers.{i}.attn.Wqkv": _QKV,
        "encoder.layers.{i}.attn.out_proj": _ATTENTION_OUTPUT,
        "encoder.layers.{i}.norm1": _ATTENTION_NORM,
        "encoder.layers.{i}.mlp.fc12": _UP,
        "encoder.layers.{i}.mlp.fc11": _GATE,
        "encoder.layers.{i}.mlp.fc2": _DOWN,
        "encoder.layers.{i}.norm2": _NORM,
        "cls.predictions.transform.layer_norm": _TRANSFORM_NORM,
        **_NEW_LAYER,
    },
    classes=_FEW_CLASSES,
    former_prefix="bert.",
)
_GTE = FamilyNames(
    "gte.",
    {
        f"{_LAYER}.attention.qkv_proj": _QKV,
        f"{_LAYER}.attention.o_proj": _ATTENTION_OUTPUT,
        f"{_LAYER}.attn_ln": _ATTENTION_NORM,
        f"{_LAYER}.mlp.up_gate_proj": (_GATE, _UP),
        f"{_LAYER}.mlp.down_proj": _DOWN,
        f"{_LAYER}.mlp_ln": _NORM,
        "lm_head.dense": _TRANSFORM,
        "lm_head.norm": _TRANSFORM_NORM,
        "lm_head.layer_norm": _TRANSFORM_NORM,
        "lm_head.decoder.bias": _BIAS,
        "lm_head.decoder": _DECODER,
        **_NEW_LAYER,
    },
    classes=_FEW_CLASSES,
    former_prefix="new.",
)
_OF_TEXTS = {"head.dense": "pooler.dense", "head.norm": "pooler.LayerNorm"}
_OF_TOKENS = {
    "head.dense": "token_head.dense",
    "head.norm": "token_head.LayerNorm",
}
# ModernBERT, Ettin and mmBERT.
_MODERNBERT = FamilyNames(
    "model.",
    {
        "embeddings.tok_embeddings": "embeddings.word_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "layers.{i}.attn.Wqkv": _QKV,
        "layers.{i}.attn.Wo": _ATTENTION_OUTPUT,
        "layers.{i}.attn_norm": _ATTENTION_NORM,
        "layers.{i}.mlp.Wi": (_UP, _GATE),
        "layers.{i}.mlp.Wo": _DOWN,
        "layers.{i}.mlp_norm": _NORM,
        "decoder.bias": _BIAS,
        "decoder": _DECODER,
    },
    {
        "MaskedLM": {"head.dense": _TRANSFORM, "head.norm": _TRANSFORM_NORM},
        "MultipleChoice": _OF_TEXTS,
        "QuestionAnswering": _OF_TOKENS | {"classifier": "qa_outputs"},
        "SequenceClassification": _OF_TEXTS,
        "TokenClassification": _OF_TOKENS,
    },
)
TABLES = {
    "bert": FamilyNames("bert."),
    "distilbert": _DISTILBERT,
    "electra": _ELECTRA,
    "gte": _GTE,
    "modernbert": _MODERNBERT,
    "mpnet": _MPNET,
    "nomic_bert": _NOMIC,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}
