"""Exceptions that tasks raise. Their Airflow base classes determine whether Airflow retries a task."""

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSensorTimeout


class _ErrorParts:
    """The parts of an error, for the block at the end of a task's log and for the pages.

    Attributes:
        kind: name of the engine's error class, or an empty string if the task itself raised the error.
        reason: the engine's message without kind and hint; empty if the task itself raised the error.
        hint: advice for the user. It may be empty.
        is_shown: whether the log of the task contains a description of the error.
    """

    kind: str = ""
    reason: str = ""
    hint: str = ""
    is_shown: bool = False


class HudiTaskError(_ErrorParts, AirflowException):
    """The task failed; another try may succeed."""


class HudiTaskRefusedError(_ErrorParts, AirflowFailException):
    """The task cannot succeed without a change, so Airflow does not retry it."""


class HudiSensorTimeoutError(_ErrorParts, AirflowSensorTimeout):
    """The time limit of a sensor has passed. Airflow does not retry the task."""
