"""Ends a process at each of its changes of a store."""

import contextlib


class Killed(BaseException):
    """Unlike an error, nothing is cleaned up after it."""


@contextlib.contextmanager
def killed_before(number, filesystem, monkeypatch):
    """Ends the process before the change of the store with this number.

    What changes several objects has changed one of them by then.
    """
    left = number

    def dying(function):
        def call(*args, **kwargs):
            nonlocal left
            if left == 0:
                if isinstance(args[0], list):
                    function(*(x[:1] for x in args))
                raise Killed
            left -= 1
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("copy", "pipe_file", "put", "put_file", "rm", "rm_file"):
            function = getattr(filesystem, name)
            patch.setattr(filesystem, name, dying(function))
        yield
