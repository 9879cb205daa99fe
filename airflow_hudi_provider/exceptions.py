"""How tasks of this provider fail. All derive from Airflow's own classes, which decide about retries."""

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException


class HudiTaskError(AirflowException):
    """The task failed; another try may succeed."""


class HudiTaskRefusedError(AirflowFailException):
    """The task cannot succeed as it stands; Airflow does not try again."""
