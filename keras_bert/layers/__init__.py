"""The layers of the network, written in keras.ops, with plain arguments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
