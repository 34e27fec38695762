"""Texts -> vectors, which are similar for texts of similar meaning."""
