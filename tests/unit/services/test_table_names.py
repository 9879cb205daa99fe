"""A result names its table, even if the request names only the base path."""

from pathlib import Path

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RollbackRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.registry import script
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable


@pytest.mark.parametrize("name", ["", "trips"], ids=["left out", "given"])
@pytest.mark.parametrize(
    ("file_name", "request_type", "fields"),
    [
        ("rollback.py", RollbackRequest, {"all_failed": True}),
        ("create_savepoint.py", CreateSavepointRequest, {}),
        ("clean.py", CleanRequest, {"preview": True}),
    ],
)
def test_a_result_contains_the_name_of_the_table(
    tmp_path: Path, name: str, file_name: str, request_type: type[JobRequest], fields: dict[str, bool]
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path)), TableVersion.V9)
    table.commit(FileGroupId("city=a", "a-0"))
    request = request_type(base_path=str(tmp_path), table_name=name, **fields)  # type: ignore[arg-type]
    assert script(file_name).run(None, request).table_name == "trips"
    assert script(file_name).run(None, request, storage=table.storage).table_name == "trips"
