"""A model -> a folder that a server loads."""
