"""Forward the lines that other programs write to standard error, so that the lines do not break the progress bar.

The JVM of Spark and its workers inherit the file descriptor, so they do not write to Python's `sys.stderr`.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_STDERR = 2
_JOIN_TIMEOUT_S = 2.0
_END = b"\0end of the job\0"


@contextmanager
def stderr_lines(write_line: Callable[[str], None]) -> Iterator[None]:
    """Redirect file descriptor 2. Another thread passes each line, without its line break, to a function.

    After the block, the process writes to the original file again. Programs that are still running keep the redirected
    descriptor; their later lines are lost.
    """
    original = os.dup(_STDERR)
    reading, writing = os.pipe()
    os.dup2(writing, _STDERR)
    reader = threading.Thread(target=_pass_on, args=(reading, write_line), name="stderr", daemon=True)
    reader.start()
    try:
        yield
    finally:
        os.dup2(original, _STDERR)
        os.close(original)
        with suppress(OSError):
            os.write(writing, b"\n" + _END + b"\n")
        os.close(writing)
        reader.join(_JOIN_TIMEOUT_S)


def _pass_on(descriptor: int, write_line: Callable[[str], None]) -> None:
    # The pipe stays open after this function: if it were closed, a signal would end each program that writes to it.
    source = os.fdopen(descriptor, "rb", closefd=False)
    for line in iter(source.readline, b""):
        if line.strip() == _END:
            return
        if text := line.decode(errors="replace").rstrip():
            write_line(text)
