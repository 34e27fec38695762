"""BERT's names in transformers, to which the other families' are mapped."""

PREFIX = "bert."
NAMES: dict[str, str] = {}
HEADS: dict[str, dict[str, str]] = {}
