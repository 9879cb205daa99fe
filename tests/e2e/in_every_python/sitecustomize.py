"""Loaded by every Python process of a job that a test starts with this folder on its path; harmless without settings.

``E2E_HIDDEN_FOLDER``: is taken off the path, so that an engine installed from the checkout cannot help the archive.
``E2E_KILL_ONE_WORKER``: name of a file. The first Spark worker that has written a base file creates it and dies
before Spark hears of the base file, as a machine that is lost does.
"""

import os
import signal
import sys

HIDDEN_FOLDER = os.environ.get("E2E_HIDDEN_FOLDER")
KILL_ONE_WORKER = os.environ.get("E2E_KILL_ONE_WORKER")


def _kill_one_worker(flag: str) -> None:
    from hudi_table_services.execution import file_groups

    write = file_groups.write_file_group

    def write_and_die_once(*arguments: object) -> object:
        written = write(*arguments)
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return written
        os.write(os.open(flag, os.O_WRONLY), written.stat.path.encode())
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("survived SIGKILL")

    file_groups.write_file_group = write_and_die_once


if HIDDEN_FOLDER:
    sys.path[:] = [path for path in sys.path if os.path.realpath(path) != os.path.realpath(HIDDEN_FOLDER)]
if KILL_ONE_WORKER and "pyspark.daemon" in sys.orig_argv:
    _kill_one_worker(KILL_ONE_WORKER)
