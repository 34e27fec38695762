"""The files that a training run writes and resumes from."""
