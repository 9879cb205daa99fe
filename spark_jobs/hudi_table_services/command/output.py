"""Standard output and standard error of the command: consoles for terminals, and text for pipes."""

import os
import sys
from typing import TextIO

from rich.console import Console


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads the stream. Closed streams and pipes are no terminals."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def console_of(stream: TextIO) -> Console:
    """Return the console of a stream. It obeys NO_COLOR and the width of the terminal."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def print_text(text: str) -> None:
    """Print a text to standard output. If the reader of the pipe has ended, as in ``… | head``, print nothing."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Discard further output, so that Python does not report the broken pipe when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
