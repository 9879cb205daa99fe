"""Who a task is, to its table and to itself: names that stay the same over its tries."""

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from hudi_table_services.contract.request import JobRequest

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OnRerun = Literal["reuse", "write_again"]


def place_of(context: "Context") -> tuple[str, ...]:
    """Dag, run, task, and map index of a mapped one."""
    ti = context["ti"]
    map_index = getattr(ti, "map_index", -1)
    return (ti.dag_id, ti.run_id, ti.task_id, *(() if map_index in (None, -1) else (str(map_index),)))


def identity_of(context: "Context", retries: int | None, on_rerun: OnRerun) -> str:
    """The request id: the same for every try of a task in a run, so that no try writes what another one wrote.

    ``write_again``: each clearing of the task begins a new identity; retries by Airflow itself do not.
    """
    place = "/".join(place_of(context))
    generation = max(0, (context["ti"].max_tries or 0) - (retries or 0))
    return f"{place}#{generation}" if on_rerun == "write_again" and generation else place


def owner_of(context: "Context", request: JobRequest) -> str:
    """Whose a run of Spark is: whoever clears the task, or changes its arguments, wants another one.

    Also where nobody could end the old one. Clearing allows more tries; retries by Airflow itself do not. Credentials
    do not count, as some are new at every look.
    """
    digest = hashlib.sha256(replace(request, storage_options={}).to_json().encode()).hexdigest()[:16]
    return f"{request.request_id} {context['ti'].max_tries or 0} {digest}"


def request_of(owner: str) -> str:
    """The request id in what `owner_of` gave."""
    return owner.rsplit(" ", 2)[0]
