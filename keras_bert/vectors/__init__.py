"""Texts -> vectors: embed, search, measure a search."""
