"""Identifiers that are the same for all tries of a task: its request id, and the owner of its Spark run."""

import hashlib
from typing import TYPE_CHECKING, Literal

from hudi_table_services.contract.request import JobRequest

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OnRerun = Literal["reuse", "write_again"]


def place_of(context: "Context") -> tuple[str, ...]:
    """Return the DAG id, run id, task id and, for a mapped task, the map index."""
    ti = context["ti"]
    map_index = getattr(ti, "map_index", -1)
    return (ti.dag_id, ti.run_id, ti.task_id, *(() if map_index in (None, -1) else (str(map_index),)))


def identity_of(context: "Context", retries: int | None, on_rerun: OnRerun) -> str:
    """Return the request id. All tries of a task in a run have the same id, so that no rows are written twice.

    With ``write_again``, each clearing of the task produces a new id; automatic retries keep the id.
    """
    place = "/".join(place_of(context))
    generation = max(0, (context["ti"].max_tries or 0) - (retries or 0))
    return f"{place}#{generation}" if on_rerun == "write_again" and generation else place


def owner_of(context: "Context", request: JobRequest) -> str:
    """Return the owner of a Spark run: a string that changes if the task is cleared or its arguments change.

    A later try compares the owners. If the owners differ, the try must not continue the Spark run, even if the try
    cannot end that run. Clearing a task raises ``max_tries``; automatic retries do not. The owner does not depend on
    credentials, because some connections return new credentials each time.
    """
    digest = hashlib.sha256(request.without_credentials().to_json().encode()).hexdigest()[:16]
    return f"{request.request_id} {context['ti'].max_tries or 0} {digest}"


def request_of(owner: str) -> str:
    """Return the request id that is part of an owner from `owner_of`."""
    return owner.rsplit(" ", 2)[0]
