"""Text and tasks -> records and batches of features."""
