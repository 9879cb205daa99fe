"""Jobs accept an index that this project cannot update if they do not change it; see docs/metadata-table.md."""

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, DeleteSavepointRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config, update_properties
from support.metadata_table.maintained_tables import A, B, Write, copied, maintained, ticking

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
OFF = {"hoodie.metadata.enable": "false"}


def metadata_files(storage: Storage) -> dict[str, bytes]:
    return {f.path: storage.read(f.path) for f in storage.list_files(METADATA_TABLE)}


def beside_an_expression_index(version: TableVersion) -> Storage:
    """A table of three writes. The properties of the table list an expression index."""
    storage = copied(maintained(version))
    Write((A, B), "w3", 3)(storage, ticking(0.5))
    listed = ",".join(sorted([*read_table_config(storage).metadata_partitions, "expr_index_day"]))
    update_properties(storage, {"hoodie.table.metadata.partitions": listed}, ticking(0.6))
    return storage


@VERSIONS
def test_a_preview_of_a_clean_runs_beside_an_expression_index(version: TableVersion) -> None:
    storage = beside_an_expression_index(version)
    before = {f.path: storage.read(f.path) for f in storage.list_files()}
    request = CleanRequest(base_path="/t", commits_retained=1, preview=True)
    result = clean(request, storage=storage, clock=ticking(3))
    assert result.outcome is Outcome.PLANNED
    assert result.report.file_count > 0  # type: ignore[union-attr]
    assert {f.path: storage.read(f.path) for f in storage.list_files()} == before
    with pytest.raises(HudiTableServiceError, match="expr_index_day"):
        clean(CleanRequest(base_path="/t", commits_retained=1), storage=storage, clock=ticking(3))


@VERSIONS
def test_a_savepoint_is_created_and_deleted_beside_an_expression_index(version: TableVersion) -> None:
    storage = beside_an_expression_index(version)
    before = metadata_files(storage)
    made = create_savepoint(CreateSavepointRequest(base_path="/t"), storage=storage, clock=ticking(3))
    assert made.outcome is Outcome.COMPLETED
    request = DeleteSavepointRequest(base_path="/t", instants=(str(made.instant_time),))
    assert delete_savepoint(request, storage=storage, clock=ticking(4)).outcome is Outcome.COMPLETED
    assert metadata_files(storage) == before


@VERSIONS
@pytest.mark.parametrize("options", [{}, OFF], ids=["default", "switched off"])
def test_a_clean_that_deletes_nothing_does_not_change_the_metadata_table(
    version: TableVersion, options: dict[str, str]
) -> None:
    storage = copied(maintained(version))
    before, listed = metadata_files(storage), read_table_config(storage).metadata_partitions
    request = CleanRequest(base_path="/t", commits_retained=10, options=options)
    result = clean(request, storage=storage, clock=ticking(3))
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert metadata_files(storage) == before
    assert read_table_config(storage).metadata_partitions == listed
