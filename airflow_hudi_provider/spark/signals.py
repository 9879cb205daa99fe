"""Describe the end of a job's process by a signal: which signal, who usually sends it, and what to do."""

import re
import signal

from airflow_hudi_provider.exceptions import HudiTaskError

_SIGNALS = {int(each): each for each in signal.Signals}
_SHELL_OFFSET = 128
_EXIT_CODE_OF_CONTAINER = re.compile(r"Kubernetes spark exit code is: (\d+)")
_ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_RETRY = "Another try is safe: the next write rolls back the unfinished commit."
_BY_REQUEST = (
    "Airflow, the cluster or an administrator ended the process, for example because a worker or a machine was "
    "stopped. Their logs contain the reason."
)
_OUT_OF_MEMORY = (
    "Most often, the operating system or a container kills a process that needs more memory than is available. Give "
    "the worker more memory, or let Spark use less: lower driver_memory if it is set, or run fewer Spark tasks at the "
    "same time (the host local[1] in the Spark connection). On a cluster, raise spark.driver.memoryOverhead and "
    "spark.executor.memoryOverhead in conf."
)
_CRASHED = (
    "The process crashed. Spark's lines above, or a file hs_err_pid*.log of the JVM, may contain the cause."
)


def signal_error(program: str, exit_code: int | None) -> HudiTaskError | None:
    """Return the task's exception if a signal ended the program; None if the program ended in another way.

    Args:
        program: the program as the subject of a sentence, such as ``spark-submit``.
        exit_code: exit code of the program. If the code is negative, it is the number of a signal. Shells and the JVM
            of spark-submit add 128 to this number instead.
    """
    code = exit_code or 0
    sent = _SIGNALS.get(code - _SHELL_OFFSET if code > 0 else -code)
    if sent is None:
        return None
    cause = _OUT_OF_MEMORY if sent is signal.SIGKILL else _BY_REQUEST if sent in _ASKED else _CRASHED
    reason, hint = (
        f"{program} was ended by the signal {sent.name} (exit code {exit_code}).",
        f"{cause} {_RETRY}",
    )
    error = HudiTaskError(f"{reason} {hint}")
    error.reason, error.hint = reason, hint
    return error


def container_error(message: str) -> HudiTaskError | None:
    """Return the task's exception if a signal ended the driver's container on Kubernetes; else None.

    Args:
        message: message of the error of Airflow's Spark hook, which contains the exit code of the container.
    """
    found = _EXIT_CODE_OF_CONTAINER.search(message)
    return signal_error("The container of the driver", int(found[1])) if found else None
