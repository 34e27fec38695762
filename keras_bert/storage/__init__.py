"""Paths that are local or on a store, such as s3:// and gs://."""
