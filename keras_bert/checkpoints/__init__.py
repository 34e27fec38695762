"""Weights in files -> weights in a model, with nothing lost in between."""
