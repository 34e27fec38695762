"""Texts -> hidden states of a frozen encoder."""
