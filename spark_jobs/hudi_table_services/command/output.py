"""Standard output and standard error of the command: consoles for terminals, and text for pipes."""

import os
import sys
from typing import TextIO

from rich.console import Console


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal. The result is False for files, pipes and closed streams."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def console_of(stream: TextIO) -> Console:
    """Return a console that writes to the stream, in the width of the terminal, without colours if NO_COLOR is set."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)


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
