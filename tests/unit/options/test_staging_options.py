"""The folders in which rows may be staged."""

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.writing import resolve_options


@pytest.mark.parametrize(
    "path", ["tmp/x", ".hoodie", ".hoodie/.aux", ".hoodie/.aux/../x", "/tmp/x", ".hoodie/.aux/.bootstrap/x"]
)
def test_rows_are_staged_in_a_separate_folder(path: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"below \.hoodie/\.aux"):
        resolve_options(UpsertRequest(base_path="/t", options={"hoodie.airflow.staging.path": path}))
