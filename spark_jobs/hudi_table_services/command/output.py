"""Standard output and standard error of the command: consoles for terminals, and text for pipes."""

import os
import sys
from typing import TextIO

from rich.console import Console

_UNLIMITED = 100_000
"""Width of lines that are never wrapped, in characters."""


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal. The result is False for files, pipes and closed streams."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def console_of(stream: TextIO, *, is_wide: bool = False) -> Console:
    """Return a console that writes to the stream, in the width of the terminal, without colours if NO_COLOR is set.

    Args:
        is_wide: whether lines may be longer than the terminal is wide. Lines for a file or a pipe are never limited.
    """
    width = _UNLIMITED if is_wide or not is_terminal(stream) else None
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def print_text(text: str) -> None:
    """Print a string to standard output.

    If the program that reads the pipe has ended, as in ``… | head``, discard this string and all further output.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Discard further output, so that Python does not report the broken pipe at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
