"""A config.json of any family <-> the fields of a `BertConfig`."""

import re
from typing import Any

from keras_bert.errors import InputError
from keras_bert.families import (
    ACTIVATIONS,
    FAMILIES,
    HUGGINGFACE_NAMES,
    Values,
    name_of,
)

# The keys that the config.json of every family can have.
_KEYS = """
    vocab_size hidden_size num_hidden_layers num_attention_heads
    intermediate_size hidden_act hidden_dropout_prob type_vocab_size
    attention_probs_dropout_prob max_position_embeddings initializer_range
    layer_norm_eps directionality
""".split()
# The defaults of sizes from which other fields are computed.
_SIZES: dict[str, Any] = {
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
}
# The model_type of Alibaba-NLP/new-impl -> its name in transformers.
_OTHER_NAMES = {"new": "gte"}
_FAMILIES_OF_CLASSES = {
    **{family.class_name: name for name, family in FAMILIES.items()},
    "New": "gte",
}
_CLASS = re.compile(f"^({'|'.join(_FAMILIES_OF_CLASSES)})(?=For|Model|$)")

# Other keys that transformers 2 to 5 and its users write. An encoder's outputs
# do not depend on them: they are notes, or are about training, precision,
# generation, heads or the tokenizer. (Other modules of this package read the
# keys about heads and the tokenizer.)
_HARMLESS_KEYS = re.compile(
    "_.*|pooler_.*|summary_.*|adapters|architectures|attn_implementation"
    "|auto_map|classifier_dropout|chunk_size_feed_forward|custom_pipelines"
    "|(torch_)?dtype|export_model_type|finetuning_task|gradient_checkpointing"
    "|id2label|label2id|language|(model_)?max_(seq_)?length|model_type"
    "|name(_or_path)?|num_(choices|labels)|output_.*|position_embedding_type"
    "|problem_type|(use_)?return_dict.*|sbert_ce_.*|sentence_transformers"
    "|task_specific_params|tie_.*|.*token(izer_class|_ids?)|torchscript"
    "|transformers_version|use_(bfloat16|cache)|xla_device"
    # Keys about generation.
    "|bad_words_ids|(begin_)?suppress_tokens|do_sample|early_stopping|prefix"
    "|min_length|num_(beam.*|return_sequences)|remove_invalid_values"
    "|temperature|top_[kp]|typical_p|.*(ngram_size|_penalty)"
)


def family_of(values: Values) -> str:
    """Returns the family that is named in the values of a config.json.

    Without a model_type, the architecture names the family.

    Raises InputError if the family is not one of `FAMILIES`: even if the keys
    and the names of weights are similar, the outputs would be wrong.
    """
    named = values.get("model_type")
    architectures = values.get("architectures") or []
    if not isinstance(architectures, list):
        raise InputError(
            f"The model config has the architectures {architectures!r:.80}, "
            "but must have a list of names; copy the file again."
        )
    for architecture in architectures:
        if named is None:
            named = _family_of_class(str(architecture)) or architecture
    named = named or "bert"
    named = _OTHER_NAMES.get(named, named)
    if named not in FAMILIES:
        raise InputError(
            f"The model is of the family {named!r}, which is not supported; "
            f"give a checkpoint of one of {', '.join(FAMILIES)}."
        )
    return named


def as_of_bert(architecture: str) -> str:
    """Returns the name of the BERT class with the head of an architecture.

    For "RobertaForMaskedLM", this is "BertForMaskedLM". For a class of an
    unknown family, it is the same name without a prefix "TF" or "Flax".
    """
    return _CLASS.sub("Bert", re.sub("^(TF|Flax)", "", architecture))


def _family_of_class(architecture: str) -> str | None:
    name = re.sub("^(TF|Flax)", "", architecture)
    if begin := _CLASS.match(name):
        return _FAMILIES_OF_CLASSES[begin[0]]
    # Without a model_type, any other class named Bert... is BERT's too.
    return "bert" if name.startswith("Bert") else None


def translate_huggingface(values: Values) -> dict[str, Any]:
    """Returns the fields of `BertConfig` for the values of a config.json.

    Raises InputError if this package cannot build the network.
    """
    try:
        return _translate(values)
    except (AttributeError, LookupError, TypeError) as error:
        raise InputError(
            f"The model config has a value of the wrong type ({error}); copy "
            "the file again."
        ) from error


def _translate(values: Values) -> dict[str, Any]:
    name = family_of(values)
    family = FAMILIES[name]
    names = {**family.former_keys, **family.keys}
    for key, usual_name in names.items():
        pair = values.get(key), values.get(usual_name)
        # For other settings, transformers reads only the family's own name.
        if usual_name in _SIZES and None not in pair and pair[0] != pair[1]:
            raise InputError(
                f"The model config has {key} {pair[0]!r} and {usual_name} "
                f"{pair[1]!r}, which are the same setting; remove one of them."
            )
    # A family's own name for a setting takes precedence over the usual name.
    renamed = {names[key]: x for key, x in values.items() if key in names}
    usual = {key: x for key, x in values.items() if key not in names}
    values = {**usual, **renamed}
    _check_values(values, name)
    sizes = _SIZES | {x: y for x, y in family.switches.items() if x in _SIZES}
    keys = {*_KEYS, *family.switches, *names.values()}
    keys -= {"hidden_act", "position_embedding_type"}
    fields: dict[str, Any] = {"hidden_act": "gelu_erf", **family.switches}
    fields |= {key: x for key, x in values.items() if key in keys}
    if "hidden_act" in values:
        fields["hidden_act"] = ACTIVATIONS[values["hidden_act"]]
    return {**fields, **family.translate({**sizes, **values}), "family": name}


def _check_values(values: Values, name: str) -> None:
    """Raises InputError for a value that no `BertConfig` can express."""
    family = FAMILIES[name]
    for key, known in family.required.items():
        if values.get(key, known[0]) not in known:
            raise InputError(
                f"The model config has {key}: {values[key]!r:.80}, but in the "
                f"family {name}, this package supports only {known[0]!r}; "
                "give another model."
            )
    hidden_act = values.get("hidden_act", "gelu")
    positions = values.get("position_embedding_type") or "absolute"
    if hidden_act not in [*ACTIVATIONS] or positions not in family.positions:
        raise InputError(
            f"hidden_act is {hidden_act!r} and position_embedding_type is "
            f"{positions!r}, but in the family {name}, this package supports "
            f"only {' or '.join(family.positions)} positions and the "
            f"activations {', '.join(ACTIVATIONS)}; give another model."
        )
    for key in ("is_decoder", "add_cross_attention", "pruned_heads"):
        if values.get(key):
            raise InputError(
                f"{key} is {values[key]}, but {name_of(name)} is an encoder "
                "with the same number of heads in every layer; give another "
                "model."
            )
    keys = {*_KEYS, *family.switches, *family.keys.values(), *family.required}
    keys |= {*family.former_keys.values()}
    harmless = re.compile(f"{_HARMLESS_KEYS.pattern}|{family.harmless or '_'}")
    for key in sorted(values.keys() - keys):
        if values[key] and not harmless.fullmatch(key):
            known_as = name_of(name)
            raise InputError(
                f"The model config has {key}: {values[key]!r:.80}, which "
                f"{known_as} does not have; give a checkpoint of {known_as}, "
                "or remove this key if the outputs do not depend on it."
            )


def huggingface_values(fields: Values) -> dict[str, Any]:
    """Returns the values of a config.json for the fields of a `BertConfig`."""
    family = FAMILIES[fields["family"]]
    values = {key: fields[key] for key in _KEYS if key != "directionality"}
    values |= {ours: fields[ours] for ours in family.keys.values()}
    values["hidden_act"] = HUGGINGFACE_NAMES[fields["hidden_act"]]
    values = {**values, "pad_token_id": 0, **family.write(fields)}
    names = {ours: key for key, ours in family.keys.items()}
    values = {names.get(key, key): x for key, x in values.items()}
    if family.class_name == "Bert":
        values["position_embedding_type"] = "absolute"
    return values | {"model_type": fields["family"]}
