"""A task with one label for a text or a pair of texts."""
