"""The words of a text -> a label for each, and the entities of the text."""
