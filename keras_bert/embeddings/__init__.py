"""Texts -> vectors, in memory or in a file."""
