"""Names of BERT in transformers, which those of the families stand for."""

PREFIX = "bert."
NAMES: dict[str, str] = {}
HEADS: dict[str, dict[str, str]] = {}
