"""Which of a model's prompts is for queries, and which is for documents."""

from collections.abc import Collection

_OF_QUERIES = ("query",)
_OF_DOCUMENTS = ("document", "passage", "corpus")


def prompt_of_role(names: Collection[str], *, is_query: bool) -> str:
    """Returns the name of the prompt for queries or for documents.

    `names` are the names of the model's prompts; the usual name is chosen. ""
    means no prompt: if a model has no prompt for the role,
    sentence-transformers' encode_query and encode_document use none either.
    """
    usual = _OF_QUERIES if is_query else _OF_DOCUMENTS
    return next((name for name in usual if name in names), "")
