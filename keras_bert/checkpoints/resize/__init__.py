"""A checkpoint -> one with another vocabulary or more positions."""
