"""Run a program on a pseudo-terminal."""

import os
import pty
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours, movements of the cursor, and other control sequences."""


def run_on_a_terminal(
    command: Sequence[object], environment: Mapping[str, str], longest_s: float = 60.0, columns: int = 100
) -> tuple[int, str]:
    """Run a program on a terminal. Return its exit code and everything that the terminal received."""
    master, slave = pty.openpty()
    variables = {**environment, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    running = subprocess.Popen(
        list(map(str, command)), stdin=slave, stdout=slave, stderr=slave, env=variables
    )
    os.close(slave)
    received = b"".join(_received(master))
    os.close(master)
    return running.wait(longest_s), received.decode().replace("\r\n", "\n")


def without_control(text: str) -> str:
    """Remove control sequences."""
    return CONTROL.sub("", text)


def _received(master: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last process closed the terminal
            return
        if not part:
            return
        yield part
