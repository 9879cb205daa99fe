"""Run a program on a pseudo-terminal."""

import os
import pty
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours, movements of the cursor, and other control sequences."""

_ON_TERMINAL = 'exec "$@" 0<>"$0"'
"""Script of a shell that starts a new session. By opening the terminal, the shell makes it the terminal of the session.
Only then does Ctrl+C reach the programs of the session."""


def run_on_a_terminal(
    command: Sequence[object],
    environment: Mapping[str, str],
    longest_s: float = 60.0,
    columns: int = 100,
    *,
    interrupt_at: str = "",
) -> tuple[int, str]:
    """Run a program on a terminal. Return its exit code and everything that the terminal received.

    Args:
        interrupt_at: as soon as the terminal has received this text, press Ctrl+C once. Empty presses no key.
    """
    master, slave = pty.openpty()
    variables = {**environment, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    running = subprocess.Popen(
        ["sh", "-c", _ON_TERMINAL, os.ttyname(slave), *map(str, command)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=variables,
        start_new_session=True,
    )
    os.close(slave)
    received = b""
    for part in _received(master):
        received += part
        if interrupt_at and interrupt_at in without_control(received.decode(errors="replace")):
            os.write(master, b"\x03")
            interrupt_at = ""
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
