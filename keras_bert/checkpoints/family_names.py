"""Tensors keyed by a family's transformers names <-> keyed by BERT's names."""

from collections.abc import Collection

import numpy as np
from absl import logging

from keras_bert.checkpoints.family_tables import TABLES
from keras_bert.checkpoints.names import Arrays, StoredArray, without_number
from keras_bert.errors import InputError
from keras_bert.families import FAMILIES

_OF_ENCODER = ("embeddings", "encoder.", "final_norm.", "pooler.")


def without_prefix(name: str, family: str) -> str:
    """Returns the name of a tensor without the prefix of its family.

    Any other prefix stays, because it shows that the file belongs to another
    family.
    """
    table = TABLES[family]
    return name.removeprefix(table.prefix).removeprefix(table.former_prefix)


def to_bert_names(
    stored: Arrays, source: str, family: str, architectures: Collection[str]
) -> Arrays:
    """Returns a family's tensors, keyed by BERT's names; splits joined tensors.

    Names that are not in the family's table stay as they are. The encoder's
    pooler is left out if a layer of the head replaces the pooler. `source` is
    the file, for messages. `architectures` are BERT classes, such as
    "BertForMaskedLM".

    Raises InputError if two tensors get the same name.
    """
    heads = [x.partition("For")[2] for x in architectures]
    if not any(heads):
        is_lm = "decoder.bias" in stored
        heads = ["MaskedLM" if is_lm else "SequenceClassification"]
    of_head = TABLES[family].heads.get(heads[0], {})
    table = {**TABLES[family].names, **of_head}
    unused = [name for name in stored if name.startswith("pooler.")]
    made = {of_head.get(name.rpartition(".")[0]) for name in stored}
    if unused and "pooler.dense" in made:
        logging.info(
            "In %s, the output layer does not use %s, so these weights are "
            "left out.",
            source,
            " and ".join(unused),
        )
        stored = {x: array for x, array in stored.items() if x not in unused}
    renamed: Arrays = {}
    names: dict[str, str] = {}
    for name, array in stored.items():
        general, number = without_number(name)
        module, _, weight = general.rpartition(".")
        new, end = table.get(general), ""
        if new is None:
            new, end = table.get(module, module), f".{weight}"
        parts = (new,) if isinstance(new, str) else new
        for i, part in enumerate(parts):
            part = (part + end).replace("{i}", number)
            if (twin := names.setdefault(part, name)) != name:
                raise InputError(
                    f"{source} has {twin} and {name}, which are the same "
                    "weight; remove one of them."
                )
            renamed[part] = _part_of(array, i, len(parts))
    return renamed


def from_bert_names(
    arrays: Arrays, family: str, architecture: str
) -> tuple[Arrays, str]:
    """Returns tensors keyed by a family's names, and the family's class.

    `arrays` are the tensors, keyed by BERT's names. `architecture` is a BERT
    class, such as "BertForMaskedLM"; the returned class is its counterpart in
    the family, such as "RobertaForMaskedLM". Raises InputError if transformers
    has no such class for the family.
    """
    head, table = architecture.partition("For")[2], TABLES[family]
    if family != "bert" and head and head not in table.classes:
        raise InputError(
            f"transformers has no class for {head} in the family {family}; "
            "choose another format."
        )
    of_head = table.heads.get(head, {})
    places: dict[str, tuple[str, int]] = {}
    for theirs, ours in {**of_head, **table.names}.items():
        for i, part in enumerate((ours,) if isinstance(ours, str) else ours):
            places.setdefault(part, (theirs, i))
    parts: dict[str, dict[int, StoredArray]] = {}
    for name, array in arrays.items():
        general, number = without_number(name)
        module, _, weight = general.rpartition(".")
        end = "" if general in places else f".{weight}"
        key = module if end else general
        new, i = places.get(key, (key, 0))
        if head and name.startswith(_OF_ENCODER) and new not in of_head:
            new = table.prefix + new
        new = (new + end).replace("{i}", number)
        parts.setdefault(new, {})[i] = array
    joined = {name: _joined(found) for name, found in parts.items()}
    begin = FAMILIES[family].class_name
    return joined, begin + architecture.removeprefix("Bert")


def _part_of(array: StoredArray, part: int, count: int) -> StoredArray:
    if count == 1:
        return array
    shape = (array.shape[0] // count, *array.shape[1:])
    return StoredArray(shape, lambda: np.split(array.read(), count)[part])


def _joined(found: dict[int, StoredArray]) -> StoredArray:
    parts = [found[i] for i in sorted(found)]
    if len(parts) == 1:
        return parts[0]
    shape = (sum(x.shape[0] for x in parts), *parts[0].shape[1:])
    return StoredArray(shape, lambda: np.concatenate([x.read() for x in parts]))
