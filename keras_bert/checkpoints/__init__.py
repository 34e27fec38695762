"""Checkpoint files -> models, and back, in several formats."""
