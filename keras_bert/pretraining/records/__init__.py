"""TFRecord files, read by number."""
