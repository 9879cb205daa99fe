"""Declare the table of a task as an asset: an outlet if the task changes rows, else an inlet.

Airflow permits only one active asset for each URI, and fails a task whose outlet or inlet is not active. If another DAG
gives the asset of the same table another name, the asset that an operator declares is not active. Therefore a running
task does not contain the declared asset. After a change of rows, the task refers to the asset by its URI, which
identifies the active asset whatever its name is.
"""

import logging
from typing import TYPE_CHECKING, Any, Protocol

from airflow.providers.common.compat.sdk import Asset

from airflow_hudi_provider.assets import HudiAsset, table_asset, uri_of_table
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.providers.common.compat.sdk import Context

_LOG = logging.getLogger(__name__)


class DeclaringTask(Protocol):
    """The part of an operator that this module reads and changes."""

    declare_asset: bool
    declared_asset: HudiAsset | None
    base_path: str | None
    hudi_conn_id: str | None
    storage_conn_id: str | None
    outlets: list[Any]
    inlets: list[Any]

    def changes_rows(self) -> bool:
        """Return whether the task can change the rows that readers see."""

    def is_preview(self) -> bool:
        """Return whether the task writes nothing."""

    def event_of(self, result: JobResult) -> dict[str, Any]:
        """Build the ``extra`` field of the task's asset events."""

    def add_partitions(self, event: Any, result: JobResult) -> None:
        """Add partition keys to an asset event."""


def declare_table(task: DeclaringTask) -> None:
    """Add the asset of the table to the outlets or inlets, unless they already contain an asset of the table.

    Call this function after all arguments are set. If the location of the table depends on a template or a connection,
    add no asset.
    """
    if not task.declare_asset or task.declared_asset is not None:
        return
    asset = table_asset(task.base_path, task.hudi_conn_id, task.storage_conn_id)
    named = {uri_of_table(getattr(each, "uri", None)) for each in (*task.outlets, *task.inlets)}
    if asset is None or asset.uri in named:
        return
    task.declared_asset = asset
    if task.changes_rows() and not task.is_preview():
        task.outlets = [*task.outlets, asset]
    else:
        task.inlets = [*task.inlets, asset]


def hide_declared_asset(task: DeclaringTask) -> None:
    """Remove the declared asset from a running task; see the docstring of the module."""
    if task.declared_asset is not None:
        task.outlets = _without(task.outlets, task.declared_asset)
        task.inlets = _without(task.inlets, task.declared_asset)


def fill_events(task: DeclaringTask, context: "Context", result: JobResult) -> None:
    """Describe the result in the asset events that Airflow emits when the task succeeds.

    The declared asset gets an event only if the task completed a change of rows. If Airflow has no active asset with
    the URI of the table, no DAG waits for its events, so there is no event.
    """
    events: Any = context.get("outlet_events")
    if events is None:
        return
    asset = task.declared_asset
    if asset is not None and task.changes_rows() and result.outcome is Outcome.COMPLETED:
        task.outlets = [*task.outlets, *_active(events, asset)]
    for outlet in task.outlets:
        event = events[outlet]
        event.extra = {"hudi": task.event_of(result)}
        task.add_partitions(event, result)


def _active(events: Any, asset: Asset) -> "Iterator[Any]":
    """Yield a reference to the active asset with the URI of this asset, if Airflow has one."""
    reference = Asset.ref(uri=asset.uri)
    try:
        events[reference]
    except Exception as error:  # noqa: BLE001 - Airflow's error for an unknown asset has no class of its own
        _LOG.debug("Airflow did not find the asset %s: %s", asset.uri, error)
        _LOG.info(
            "No DAG names the asset %s, so this commit causes no asset event, and the table has no page. To change "
            "this, list the asset in the outlets of a task.",
            asset.uri,
        )
        return
    yield reference


def _without(assets: list[Any], removed: Asset) -> list[Any]:
    """Return the other assets. Airflow copies operators, so the assets are compared by name and URI."""
    wanted = (removed.name, removed.uri)
    return [each for each in assets if (getattr(each, "name", None), getattr(each, "uri", None)) != wanted]
