"""Code that runs in every Python process of a job, if a test starts the job with this folder on the Python path.

Without the following environment variables, this module does nothing.

``E2E_HIDDEN_FOLDER``: a folder that this module removes from the Python path, so that a job cannot import the engine
from the checkout instead of the archive.
``E2E_KILL_ONE_WORKER``: name of a file. The first Spark worker that has written a base file creates this file and dies
before it reports the base file to Spark, as if its machine had failed.
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
