"""A checkpoint -> a copy with other word pieces, positions or layers."""
