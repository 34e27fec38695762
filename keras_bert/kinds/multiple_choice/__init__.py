"""A task with the best of several endings of a text."""
