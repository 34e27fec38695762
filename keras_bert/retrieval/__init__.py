"""Exact search for vectors, and its evaluation on sets of judged texts."""
