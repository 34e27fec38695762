"""Pre-training records -> batches."""
