"""BERT's module names in transformers; other families' names map to them."""

PREFIX = "bert."
NAMES: dict[str, str] = {}
HEADS: dict[str, dict[str, str]] = {}
