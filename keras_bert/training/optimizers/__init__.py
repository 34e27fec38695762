"""The optimizers of BERT and their learning-rate schedule."""
