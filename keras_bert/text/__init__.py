"""Strings -> features, in the TensorFlow graph, the same everywhere."""
