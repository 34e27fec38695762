"""A task with any number of labels for a text or a pair of texts."""
