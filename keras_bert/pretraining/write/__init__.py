"""Text -> pre-training records."""
