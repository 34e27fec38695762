"""The best of several endings of a text."""
