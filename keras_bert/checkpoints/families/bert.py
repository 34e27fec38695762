"""Names of BERT in transformers, to which other families are mapped."""

PREFIX = "bert."
NAMES: dict[str, str] = {}
HEADS: dict[str, dict[str, str]] = {}
