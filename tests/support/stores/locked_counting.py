"""Several processes increase a number in a file of a table. Each increase holds the lock of the table."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from hudi_table_services.storage.stores.factory import open_storage

LOCK_OBJECT = ".hoodie/.locks/table_lock.json"
"""Path of Hudi's storage-based lock."""

TURNS, PROCESSES = 5, 4

# Each turn reads a number and writes the next one. Without mutual exclusion, two turns could write the same number.
_PROGRAM = """
import json, sys, time
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.locks.lock import table_lock

uri, turns, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.stdin.read())
storage = open_storage(uri, options)
for _ in range(turns):
    with table_lock(storage, LockOptions(retry_wait_ms=50, client_retry_wait_ms=50)) as lock:
        count = int(storage.read("count"))
        time.sleep(0.02)
        lock.verify()
        storage.write("count", str(count + 1).encode())
"""


def count_in_processes(uri: str, options: Mapping[str, str], folder: Path) -> str:
    """Let processes count at the same time, check that no turn was lost, and return what the processes printed.

    Args:
        uri: a folder without files.
        options: storage options.
        folder: an empty folder for the program.
    """
    storage = open_storage(uri, options)
    storage.create("count", b"0")
    script = folder / "count.py"
    script.write_text(_PROGRAM)
    running = [
        subprocess.Popen(
            [sys.executable, str(script), uri, str(TURNS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(json.dumps(dict(options)))
        process.stdin.close()
    printed = ""
    for process in running:
        assert process.stdout is not None
        printed += process.stdout.read()
        assert process.wait(60) == 0, printed
    assert storage.read("count") == str(TURNS * PROCESSES).encode()
    return printed
