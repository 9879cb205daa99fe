"""Names of a task, for its table and for its own tries, that stay the same over the tries."""

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from hudi_table_services.contract.request import JobRequest

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OnRerun = Literal["reuse", "write_again"]


def place_of(context: "Context") -> tuple[str, ...]:
    """Dag, run, task, and map index of a mapped task."""
    ti = context["ti"]
    map_index = getattr(ti, "map_index", -1)
    return (ti.dag_id, ti.run_id, ti.task_id, *(() if map_index in (None, -1) else (str(map_index),)))


def identity_of(context: "Context", retries: int | None, on_rerun: OnRerun) -> str:
    """Return the request id: the same for every try of a task in a run, so that no two tries write the same rows.

    With ``write_again`` each clearing of the task gives a new id; retries by Airflow itself do not.
    """
    place = "/".join(place_of(context))
    generation = max(0, (context["ti"].max_tries or 0) - (retries or 0))
    return f"{place}#{generation}" if on_rerun == "write_again" and generation else place


def owner_of(context: "Context", request: JobRequest) -> str:
    """Return the owner of a Spark run. A task that was cleared, or has other arguments, has another owner.

    So a later try recognises a run that it must not continue, also one that could not be ended. Clearing raises
    ``max_tries``; retries by Airflow itself do not. Credentials are left out: some connections return new ones each
    time.
    """
    digest = hashlib.sha256(replace(request, storage_options={}).to_json().encode()).hexdigest()[:16]
    return f"{request.request_id} {context['ti'].max_tries or 0} {digest}"


def request_of(owner: str) -> str:
    """The request id in an owner from `owner_of`."""
    return owner.rsplit(" ", 2)[0]
