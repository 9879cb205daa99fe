"""Declare the table of a task as an asset: an outlet if the task changes rows, else an inlet.

Airflow permits only one active asset for each URI, and fails a task whose outlet or inlet is not active. If another DAG
gives the asset of a table a name of its own, the asset that an operator declares is not active. Therefore a running
task does not contain the declared asset. After a change of rows, the task refers to the asset by its URI, which
identifies the active asset whatever its name is.
"""

import logging
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import Asset

from airflow_hudi_provider.assets import HudiAsset, table_asset, uri_of_table
from airflow_hudi_provider.results.task_outcome import event_of
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jinja2
    from airflow.providers.common.compat.sdk import Context

_LOG = logging.getLogger(__name__)


class DeclaresTable:
    """Part of the base class of the operators; see `HudiJobOperator`."""

    declare_asset = True
    declared_asset: HudiAsset | None = None
    """The asset that the operator added to its outlets or inlets. None if it added no asset."""

    base_path: str | None
    hudi_conn_id: str | None
    storage_conn_id: str | None
    outlets: list[Any]
    inlets: list[Any]

    def changes_rows(self) -> bool:
        """Return whether the task can change the rows that readers see. By default, False."""
        return False

    def is_preview(self) -> bool:
        """Return whether the task writes nothing."""
        raise NotImplementedError

    def declare_table(self) -> None:
        """Add the asset of the table to the outlets or inlets, unless they already contain an asset of the table.

        Call this method after all arguments are set. If the location of the table depends on a template or a
        connection, add no asset.
        """
        if not self.declare_asset or self.declared_asset is not None:
            return
        asset = table_asset(self.base_path, self.hudi_conn_id, self.storage_conn_id)
        if asset is None or any(
            uri_of_table(getattr(each, "uri", None)) == asset.uri for each in (*self.outlets, *self.inlets)
        ):
            return
        self.declared_asset = asset
        if self.changes_rows() and not self.is_preview():
            self.outlets = [*self.outlets, asset]
        else:
            self.inlets = [*self.inlets, asset]

    def render_template_fields(
        self, context: "Context", jinja_env: "jinja2.Environment | None" = None
    ) -> None:
        """Render the arguments for Airflow, and remove the declared asset; see the docstring of the module."""
        super().render_template_fields(context, jinja_env)  # type: ignore[misc]  # a method of BaseOperator
        if self.declared_asset is not None:
            self.outlets = _without(self.outlets, self.declared_asset)
            self.inlets = _without(self.inlets, self.declared_asset)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        """Build the ``extra`` field of the task's asset events from small, plain JSON values."""
        return event_of(result)

    def add_partitions(self, event: Any, result: JobResult) -> None:
        """Add partition keys to an asset event. By default, add none."""

    def fill_events(self, context: "Context", result: JobResult) -> None:
        """Describe the result in the asset events that Airflow emits when the task succeeds.

        The declared asset gets an event only if the task completed a change of rows. If Airflow has no active asset
        with the URI of the table, no DAG waits for its events, so there is no event.
        """
        events: Any = context.get("outlet_events")
        if events is None:
            return
        asset = self.declared_asset
        if asset is not None and self.changes_rows() and result.outcome is Outcome.COMPLETED:
            self.outlets = [*self.outlets, *_active(events, asset)]
        for outlet in self.outlets:
            event = events[outlet]
            event.extra = {"hudi": self.event_of(result)}
            self.add_partitions(event, result)


def _active(events: Any, asset: Asset) -> "Iterator[Any]":
    """Yield a reference to the active asset with the URI of this asset, if Airflow has one."""
    reference = Asset.ref(uri=asset.uri)
    try:
        events[reference]
    except Exception as error:  # noqa: BLE001 - Airflow's error for an unknown asset has no class of its own
        _LOG.info("There is no asset event, because Airflow has no active asset %s: %s", asset.uri, error)
        return
    yield reference


def _without(assets: list[Any], removed: Asset) -> list[Any]:
    """Return the other assets. Airflow copies operators, so the assets are compared by name and URI."""
    wanted = (removed.name, removed.uri)
    return [each for each in assets if (getattr(each, "name", None), getattr(each, "uri", None)) != wanted]
