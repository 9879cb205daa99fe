"""Exceptions of tasks. All derive from Airflow's own classes, which decide about retries."""

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException


class HudiTaskError(AirflowException):
    """The task failed; another try may succeed.

    Attributes:
        kind: name of the engine's error class; empty: the task itself raised the error.
        hint: what to do next; may be empty.
    """

    kind: str = ""
    hint: str = ""


class HudiTaskRefusedError(AirflowFailException):
    """The task cannot succeed without a change; Airflow does not retry it. Attributes as in `HudiTaskError`."""

    kind: str = ""
    hint: str = ""
