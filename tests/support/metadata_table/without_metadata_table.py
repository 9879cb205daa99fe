"""Options with which tests about rows, data files or the timeline create a table without a metadata table.

By default, the first write of a table creates a metadata table, and every change then writes more small files. Only
tests of these defaults, and tests in which Hudi or another reader uses the metadata table, need a metadata table. All
other tests are faster without it, and their lists of files and counts of requests contain only the table itself.

These options belong to the first write only. Later writes update a metadata table if the table has one.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.storage.table_store import BACKUP, PROPERTIES

WITHOUT_METADATA_TABLE = {"hoodie.metadata.enable": "false"}
"""Options of a write that creates a table without a metadata table."""

NO_METADATA_TABLE = replace(DEFAULT_METADATA_SETTINGS, enable=False)
"""Settings of a job with the same effect."""


def options_of_new_table(base_path: Path) -> Mapping[str, str]:
    """`WITHOUT_METADATA_TABLE` if there is no table at the base path, otherwise no options."""
    exists = (base_path / PROPERTIES).exists() or (base_path / BACKUP).exists()
    return {} if exists else WITHOUT_METADATA_TABLE
