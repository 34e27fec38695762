"""The families of encoders, and how each differs from BERT.

A family is a row of `FAMILIES`. The same code builds the networks of all
families. The names of their weights are in `checkpoints/family_tables.py`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from keras_bert.errors import InputError, check_choice

Values = Mapping[str, Any]

# Hugging Face's name of an activation -> ours. Google's "gelu" is the tanh
# form, and Hugging Face's "gelu" is the erf form.
ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_python": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "linear": "linear",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
# Some activations have two names in transformers. This mapping has the first
# name, which is the usual one.
HUGGINGFACE_NAMES = {x: name for name, x in reversed(ACTIVATIONS.items())}


@dataclasses.dataclass(frozen=True)
class Family:
    """How a family of encoders differs from BERT.

    Attributes:
        class_name: The beginning of the family's class names in transformers.
        switches: The fields of `BertConfig` that differ from BERT's, by name.
        keys: Keys of the family's config.json -> the fields of `BertConfig`,
            where their names differ.
        former_keys: Like `keys`, for a config.json of the family's first
            release.
        required: Keys of the config.json -> the only values that they may
            have. An absent key means the first value.
        positions: The values that position_embedding_type may have in the
            config.json.
        harmless: A regular expression for further keys that do not change the
            outputs.
        translate: A function from the values of a config.json, whose keys are
            already renamed, to the fields of `BertConfig` that must be
            computed.
        write: The reverse of `translate`: a function from the fields of
            `BertConfig` to values of a config.json.
    """

    class_name: str
    switches: Values = dataclasses.field(default_factory=dict)
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    former_keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    required: Mapping[str, tuple] = dataclasses.field(default_factory=dict)
    positions: tuple[str, ...] = ("absolute",)
    harmless: str = ""
    translate: Callable[[Values], Values] = lambda values: {}
    write: Callable[[Values], Values] = lambda fields: {}


def _shifted(values: Values) -> Values:
    """Returns a RoBERTa network's first position and number of positions.

    The first position is the id of the padding token plus 1.
    """
    padding = values.get("pad_token_id")
    first = (1 if padding is None else padding) + 1
    positions = values.get("max_position_embeddings", 512) - first
    return {"first_position": first, "max_position_embeddings": positions}


def _unshifted(fields: Values) -> Values:
    first = fields["first_position"]
    return {
        "pad_token_id": first - 1,
        "max_position_embeddings": fields["max_position_embeddings"] + first,
        "bos_token_id": 0,
        "eos_token_id": 2,
    }


_ROPE_KEYS = """
    factor original_max_position_embeddings partial_rotary_factor rope_theta
    rope_type type
""".split()


def _rotary(values: Values) -> Values:
    """Returns `BertConfig` fields for rope_parameters or older rope_scaling."""
    rope = values.get("rope_parameters") or values.get("rope_scaling") or {}
    theta = rope.get("rope_theta", values.get("rope_theta"))
    kind = rope.get("rope_type", rope.get("type", "default"))
    is_partial = rope.get("partial_rotary_factor") not in (None, 1)
    if is_partial or rope.keys() - _ROPE_KEYS:
        kind = "unknown"
    if kind == "default":
        return {"rope_theta": theta} if theta else {}
    factor = rope.get("factor", 1.0)
    if kind == "linear" and theta:
        return {"rope_theta": theta, "rope_scaling_factor": factor}
    if kind == "ntk" and theta:
        # As in the code of Alibaba-NLP/new-impl: a larger base, and a slower
        # rotation overall.
        size = values["hidden_size"] // values["num_attention_heads"]
        return {
            "rope_theta": theta * factor,
            "rope_scaling_factor": factor ** (2 / size),
        }
    raise InputError(
        f"The model config has the rotary positions {dict(rope)!r:.80}, but "
        "this package supports only the types default, linear and ntk, with "
        "rope_theta and factor; give another model."
    )


def _one_rope(fields: Values) -> Values:
    return {"rope_parameters": _rope(fields, fields["rope_theta"])}


def _rope(fields: Values, theta: float) -> dict[str, Any]:
    factor = fields["rope_scaling_factor"]
    if factor == 1:
        return {"rope_type": "default", "rope_theta": theta}
    return {"rope_type": "linear", "rope_theta": theta, "factor": factor}


def _nomic(values: Values) -> Values:
    heads = values["num_attention_heads"]
    if values.get("head_dim") not in (None, values["hidden_size"] // heads):
        raise InputError(
            f"The model config has a head_dim of {values['head_dim']}, but it "
            "must be hidden_size / num_attention_heads; give another model."
        )
    read = dict(_rotary(values))
    if (values.get("rotary_scaling_factor") or 1) != 1:
        # Sequences longer than max_trained_positions are not supported: their
        # rotations would depend on their lengths.
        read["max_position_embeddings"] = values.get(
            "max_trained_positions", 2048
        )
    return read


def _modern(values: Values) -> Values:
    """Returns the fields of a `BertConfig` that ModernBERT's keys determine."""
    count = values["num_hidden_layers"]
    every = values.get("global_attn_every_n_layers", 3)
    layers = values.get("layer_types")
    if layers:
        later = [i for i, x in enumerate(layers) if i and x[:4] == "full"]
        every = later[0] if later else len(layers)
    if layers is not None and layers != _layer_types(count, every):
        raise InputError(
            f"The model config has the layer_types {layers!r:.80}, but the "
            "first and then every n-th layer must have full attention; give "
            "another model."
        )
    ropes = values.get("rope_parameters") or {}
    full_theta = values.get("global_rope_theta") or 160_000.0
    local_theta = values.get("local_rope_theta", 10_000.0) or full_theta
    full, local = (
        _rotary({"rope_parameters": {"rope_theta": theta} | ropes.get(x, {})})
        for x, theta in (
            ("full_attention", full_theta),
            ("sliding_attention", local_theta),
        )
    )
    if len(full) + len(local) > 2 or values.get("rope_scaling"):
        raise InputError(
            "The model config scales rotary positions, which this package "
            "does not support for ModernBERT; give a checkpoint without "
            "scaling."
        )
    biases = {
        "attention_bias": "attention",
        "mlp_bias": "intermediate output",
        "norm_bias": "norm",
        "classifier_bias": "head",
    }
    act = values.get("classifier_activation", "gelu")
    check_choice("classifier_activation", act, [*ACTIVATIONS])
    return {
        "biases": " ".join(x for k, x in biases.items() if values.get(k)),
        "global_attn_every_n_layers": every,
        "rope_theta": full["rope_theta"],
        "local_rope_theta": local["rope_theta"],
        "pooler_act": ACTIVATIONS[act],
        "masked_lm_act": ACTIVATIONS[act],
    }


def _layer_types(count: int, every: int) -> list[str]:
    kinds = "full_attention", "sliding_attention"
    return [kinds[bool(i % every)] for i in range(count)]


def _write_modern(fields: Values) -> Values:
    biases = fields["biases"].split()
    every = fields["global_attn_every_n_layers"]
    return {
        "attention_bias": "attention" in biases,
        "mlp_bias": "output" in biases,
        "norm_bias": "norm" in biases,
        "classifier_bias": "head" in biases,
        "classifier_activation": HUGGINGFACE_NAMES[fields["pooler_act"]],
        "global_attn_every_n_layers": every,
        "local_attention": fields["local_attention"],
        "layer_types": _layer_types(fields["num_hidden_layers"], every),
        "rope_parameters": {
            "full_attention": _rope(fields, fields["rope_theta"]),
            "sliding_attention": _rope(fields, fields["local_rope_theta"]),
        },
    }


_ROBERTA = Family(
    "Roberta",
    {"type_vocab_size": 1, "first_position": 2, "masked_lm_act": "gelu_erf"},
    translate=_shifted,
    write=_unshifted,
)
FAMILIES = {
    "bert": Family("Bert"),
    # Half of BERT's layers, and neither segments nor a pooler. Classifiers have
    # a layer with ReLU instead of the pooler.
    "distilbert": Family(
        "DistilBert",
        {"num_hidden_layers": 6, "type_vocab_size": 0, "pooler_act": "relu"},
        keys={
            "activation": "hidden_act",
            "attention_dropout": "attention_probs_dropout_prob",
            "dim": "hidden_size",
            "dropout": "hidden_dropout_prob",
            "hidden_dim": "intermediate_size",
            "n_heads": "num_attention_heads",
            "n_layers": "num_hidden_layers",
        },
        required={"layer_norm_eps": (1e-12,)},  # transformers always uses it
        harmless="sinusoidal_pos_embds|(qa|seq_classif)_dropout",
    ),
    # The embeddings can be narrower than the network, and there is no pooler.
    # The defaults are the sizes of the small model.
    "electra": Family(
        "Electra",
        {
            "hidden_size": 256,
            "num_attention_heads": 4,
            "intermediate_size": 1024,
            "pooler_act": "gelu_erf",
            "masked_lm_act": "gelu_erf",
        },
        required={
            "summary_activation": ("gelu",),
            "summary_type": ("first",),
            "summary_use_proj": (True,),
        },
        harmless="embedding_size",
        translate=lambda values: {
            "embedding_size": values.get("embedding_size", 128)
        },
        write=lambda fields: {
            "embedding_size": fields["embedding_size"] or fields["hidden_size"]
        },
    ),
    # One segment; the first position is 2.
    "roberta": _ROBERTA,
    "xlm-roberta": dataclasses.replace(_ROBERTA, class_name="XLMRoberta"),
    # Like RoBERTa, but without segments. All layers share a table of biases.
    # The bias for the distance between two tokens is added to their attention
    # score.
    "mpnet": Family(
        "MPNet",
        {
            "type_vocab_size": 0,
            "first_position": 2,
            "position_embedding_type": "relative",
            "masked_lm_act": "gelu_erf",
        },
        required={
            "pad_token_id": (1,),
            "relative_attention_num_buckets": (32,),
        },
        translate=_shifted,
        write=_unshifted,
    ),
    # Rotary positions, gated feed-forward (SwiGLU), biases in the norms only.
    "nomic_bert": Family(
        "NomicBert",
        {
            "hidden_act": "silu",
            "position_embedding_type": "rotary",
            "rope_theta": 1000.0,
            "gated_feed_forward": True,
            "biases": "norm head",
            "max_position_embeddings": 2048,
        },
        former_keys={
            "attn_pdrop": "attention_probs_dropout_prob",
            "layer_norm_epsilon": "layer_norm_eps",
            "n_embd": "hidden_size",
            "n_head": "num_attention_heads",
            "n_inner": "intermediate_size",
            "n_layer": "num_hidden_layers",
            "n_positions": "max_position_embeddings",
            "resid_pdrop": "hidden_dropout_prob",
            "rotary_emb_base": "rope_theta",
        },
        required={
            "activation_function": ("swiglu",),
            "causal": (False,),
            "mlp_fc1_bias": (False,),
            "mlp_fc2_bias": (False,),
            "parallel_block": (False,),
            "prenorm": (False,),
            "qkv_proj_bias": (False,),
            "rotary_emb_fraction": (1.0,),
            "rotary_emb_interleaved": (False,),
            "rotary_emb_scale_base": (None,),
            "use_rms_norm": (False, None),
        },
        harmless="head_dim|rope_parameters|rotary_scaling_factor"
        "|max_trained_positions|dense_seq_output|embd_pdrop|fused_.*|use_.*"
        "|last_layer_subset|pad_vocab_.*|reorder_and_upcast_attn"
        "|scale_attn_.*|expand_.*",
        translate=_nomic,
        write=_one_rope,
    ),
    # Rotary positions, gated feed-forward (GeGLU) without a bias at its input.
    "gte": Family(
        "Gte",
        {
            "position_embedding_type": "rotary",
            "rope_theta": 160_000.0,
            "gated_feed_forward": True,
            "biases": "attention output norm head",
            "type_vocab_size": 1,
            "max_position_embeddings": 8192,
            "attention_probs_dropout_prob": 0.0,
            "masked_lm_act": "gelu_erf",
        },
        required={
            "layer_norm_type": ("layer_norm",),
            "logn_attention_scale": (False,),
            "pack_qkv": (True,),
        },
        positions=("absolute", "rope"),
        harmless="rope_.*|logn_attention_clip1|unpad_inputs|use_.*",
        translate=_rotary,
        write=_one_rope,
    ),
    # Rotary positions, gated feed-forward (GeGLU), norms before each part, no
    # biases; full attention in every third layer, local attention in the rest.
    "modernbert": Family(
        "ModernBert",
        {
            "num_hidden_layers": 22,
            "intermediate_size": 1152,
            "type_vocab_size": 0,
            "position_embedding_type": "rotary",
            "local_attention": 128,
            "gated_feed_forward": True,
            "norm_placement": "before",
            "prediction_head": True,
            "layer_norm_eps": 1e-5,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "max_position_embeddings": 8192,
        },
        keys={
            "attention_dropout": "attention_probs_dropout_prob",
            "classifier_pooling": "pooling",
            "hidden_activation": "hidden_act",
            "mlp_dropout": "hidden_dropout_prob",
            "norm_eps": "layer_norm_eps",
        },
        required={"decoder_bias": (True,)},
        # Ettin and mmBERT have "sans_pos"; transformers does not read it.
        positions=("absolute", "sans_pos"),
        harmless="(global|local)_(attn_every_n_layers|rope_theta)|layer_types"
        "|rope_.*|(attention|classifier|mlp|norm)_bias|classifier_.*|sparse_.*"
        "|embedding_dropout|initializer_cutoff_factor|deterministic_.*"
        "|reference_compile|repad_logits_with_grad|compile",
        translate=_modern,
        write=_write_modern,
    ),
}


def name_of(family: str) -> str:
    """Returns the name that messages use for a family."""
    return "BERT" if family == "bert" else family
