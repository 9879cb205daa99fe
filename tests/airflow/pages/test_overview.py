"""The view of the tab Overview, without a server."""

from pathlib import Path

from airflow_hudi_provider.pages.content_views import Wanted, overview_view
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.command.view_summaries import table_summary
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.views.table_state import read_table_state
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

MONTHS = {
    "hoodie.table.partition.fields": "ts",
    "hoodie.table.keygenerator.type": "TIMESTAMP",
    "hoodie.keygen.timebased.output.dateformat": "yyyy-MM",
}


def test_the_page_and_show_table_show_the_same_pattern_of_time_partitions(tmp_path: Path) -> None:
    for name, properties, expected in (("months", MONTHS, "ts (yyyy-MM)"), ("plain", {}, "city")):
        storage = LocalStorage(str(tmp_path / name))
        table = SmallTable(storage, TableVersion.V9, FixedClock(), properties)
        table.commit(FileGroupId("2026-01", "f1"))
        view = overview_view(RegisteredTable.of("", storage.uri, None, None), Wanted())
        assert view["partitioned_by"] == expected
        assert (
            dict(table_summary(read_table_state(storage)).facts)["Partitions"] == f"1 partition by {expected}"
        )
