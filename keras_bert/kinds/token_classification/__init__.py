"""A task with a label for each word of a text, and its entities."""
