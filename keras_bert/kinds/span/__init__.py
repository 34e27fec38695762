"""A task with the part of a context that answers a question."""
