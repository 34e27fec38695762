"""A question and a context -> the part of the context that answers it."""
