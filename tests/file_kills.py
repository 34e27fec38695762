"""Ends a process at each of its changes of a file, or a run between parts."""

import contextlib
import os
import pathlib
import shutil
import traceback

import pytest

from keras_bert.io.resumable_file import ResumableFile

_CHANGES = (
    (pathlib.Path, "mkdir"),
    (pathlib.Path, "open"),
    (pathlib.Path, "replace"),
    (pathlib.Path, "unlink"),
    (os, "fsync"),
    (shutil, "copyfileobj"),
    (shutil, "rmtree"),
)
_KILLED = 9


class _Killed(BaseException):
    pass


@contextlib.contextmanager
def killed_after(num_parts: int):
    """Ends a run after this number of parts of a `ResumableFile`."""

    def append(*args):
        nonlocal num_parts
        if not num_parts:
            raise _Killed
        num_parts -= 1
        return whole(*args)

    whole = ResumableFile.append
    with pytest.MonkeyPatch.context() as patches, pytest.raises(_Killed):
        patches.setattr(ResumableFile, "append", append)
        yield


def is_killed(number: int, function) -> bool:
    """Calls `function` in a new process, which ends before change `number`.

    Returns whether it ended before `function` did. What copies or removes
    several bytes or files has begun to do so by then. The function must only
    use files: TensorFlow hangs in a forked process.
    """
    child = os.fork()
    if not child:
        try:
            _die_before(number)
            function()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, _KILLED)
    return code == _KILLED


def _die_before(number):
    left = number
    copy, rmtree = shutil.copyfileobj, shutil.rmtree

    def dying(function):
        def call(*args, **kwargs):
            nonlocal left
            if not left:
                if function is copy:
                    args[1].write(args[0].read(2))
                    args[1].flush()
                elif function is rmtree:
                    files = pathlib.Path(args[0]).glob("**/*")
                    first = next(
                        (file for file in files if file.is_file()), None
                    )
                    if first:
                        os.unlink(first)
                os._exit(_KILLED)
            left -= 1
            return function(*args, **kwargs)

        return call

    for module, name in _CHANGES:
        setattr(module, name, dying(getattr(module, name)))
