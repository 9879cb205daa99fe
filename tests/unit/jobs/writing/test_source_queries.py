"""Errors about the columns that the query of a source returns."""

from pathlib import Path

import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.write_opening import open_write
from hudi_table_services.model.schema import STRING, TIMESTAMP, Field, StructType
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage


def refusal(folder: Path, sql: str, *columns: Field) -> InvalidRequestError:
    source = SourceSpec(path="/landing", sql=sql)
    request = UpsertRequest(
        base_path=str(folder),
        table_name="t",
        source=source,
        record_key=("id",),
        partition_by=("created_at:day",),
    )
    batch = StructType((Field("id", STRING), *columns))
    with pytest.raises(InvalidRequestError) as caught:
        open_write(LocalStorage(str(folder)), resolve_options(request), None, batch, source)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "cure"),
    [
        (
            "SELECT *, CAST(created_at AS TIMESTAMP) AS created_at FROM source",
            "SELECT * EXCEPT (created_at), CAST(created_at AS TIMESTAMP) AS created_at FROM source",
        ),
        ("SELECT id, created_at, now() AS created_at FROM source", "Leave out one of the columns"),
    ],
)
def test_a_query_that_returns_a_column_twice_is_refused_for_this_reason(
    tmp_path: Path, sql: str, cure: str
) -> None:
    error = refusal(tmp_path, sql, Field("created_at", STRING), Field("created_at", TIMESTAMP))
    assert error.message == "The source query (--source-sql) returns the column 'created_at' twice."
    assert cure in error.hint


def test_the_proposed_query_contains_the_query_of_the_request(tmp_path: Path) -> None:
    error = refusal(tmp_path, "SELECT * FROM source;", Field("created_at", STRING))
    query = "SELECT id, CAST(created_at AS TIMESTAMP) AS created_at FROM (SELECT * FROM source)"
    assert f"(--source-sql): {query}." in error.hint
