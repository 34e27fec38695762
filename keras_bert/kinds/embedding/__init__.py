"""Sentence embeddings: texts of similar meaning get similar vectors."""
