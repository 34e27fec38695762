"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
