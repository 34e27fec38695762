"""Checkpoints -> checkpoints with other sizes: vocabulary, positions."""
