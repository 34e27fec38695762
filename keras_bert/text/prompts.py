"""Which of a model's prompts is for queries, and which is for documents."""

from collections.abc import Collection

_OF_QUERIES = ("query",)
_OF_DOCUMENTS = ("document", "passage", "corpus")


def prompt_of_role(names: Collection[str], *, is_query: bool) -> str:
    """Returns the name of the prompt for queries or for documents.

    `names` are the names of the model's prompts. If none of them is usual for
    the role, the result is "", for no prompt: sentence-transformers'
    encode_query and encode_document then use no prompt either.
    """
    usual = _OF_QUERIES if is_query else _OF_DOCUMENTS
    return next((name for name in usual if name in names), "")
