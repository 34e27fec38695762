"""The training loop; it knows no BERT."""
