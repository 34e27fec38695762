"""Texts -> vectors, search among vectors, and metrics of retrieval."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
