"""A task with a number for a text or a pair of texts."""
