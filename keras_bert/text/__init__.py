"""Strings -> features, in the TensorFlow graph."""
