"""A checkpoint -> one with other word pieces, positions or layers."""
