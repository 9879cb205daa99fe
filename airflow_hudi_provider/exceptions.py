"""How tasks of this provider fail. All derive from Airflow's own classes, which decide about retries."""

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException


class HudiTaskError(AirflowException):
    """The task failed; another try may succeed.

    Attributes:
        kind: what went wrong, as the engine names it; empty: the task found it itself.
        hint: what to do next; may be empty.
    """

    kind: str = ""
    hint: str = ""


class HudiTaskRefusedError(AirflowFailException):
    """The task cannot succeed as it stands; Airflow does not try again. Attributes as `HudiTaskError`."""

    kind: str = ""
    hint: str = ""
