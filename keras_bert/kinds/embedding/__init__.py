"""Sentence embeddings: texts of like meaning get similar vectors."""
