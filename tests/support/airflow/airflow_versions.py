"""Names that Airflow 3.1 and 3.3 define in different modules. Import this module inside of test functions."""

import pytest

from airflow import __version__

try:
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
except ModuleNotFoundError:
    from airflow.models.dagbag import DagBag, sync_bag_to_db  # type: ignore[no-redef]

try:
    from airflow.sdk.exceptions import TaskDeferralTimeout
except ImportError:
    from airflow.exceptions import TaskDeferralTimeout  # type: ignore[no-redef]

__all__ = ["LOOKS_UP_CONNECTIONS_ANYWHERE", "DagBag", "TaskDeferralTimeout", "sync_bag_to_db"]

LOOKS_UP_CONNECTIONS_ANYWHERE = tuple(map(int, __version__.split(".")[:2])) >= (3, 2)
"""Whether Airflow also finds connections outside of supervised tasks; Airflow 3.1 finds them only inside of tasks."""


def serialized(dag: object) -> dict:
    """Serialize a DAG as Airflow stores it in its database."""
    try:
        from airflow.serialization.serialized_objects import DagSerialization as Serialization
    except ImportError:
        from airflow.serialization.serialized_objects import SerializedDAG as Serialization
    return Serialization.to_dict(dag)


def load_operator_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deserialize tasks with their links, as the API server does.

    A class attribute of Airflow decides whether links are deserialized. The scheduler sets the attribute to False for
    the whole process, and so does Airflow's function that clears tasks.
    """
    from airflow.serialization import serialized_objects

    name = "_load_operator_extra_links"
    for serialization in list(vars(serialized_objects).values()):
        if isinstance(serialization, type) and name in vars(serialization):
            monkeypatch.setattr(serialization, name, True)
