"""One label for each word of a text."""
