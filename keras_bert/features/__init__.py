"""Texts -> layer outputs of a frozen encoder."""
