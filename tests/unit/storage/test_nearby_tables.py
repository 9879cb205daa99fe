"""The advice for a base path without a table: tables above, inside and beside the path."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_table_services.errors import HudiTableServiceError, TableNotFoundError
from hudi_table_services.storage.nearby_tables import with_nearby_tables
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import find_table_config, read_table_config, require_table
from support.small_tables import SmallTable

MISSING = TableNotFoundError("There is no Hudi table.", hint="Check the base path.")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in ("flights", "trips"):
        SmallTable(LocalStorage(str(tmp_path / "lake" / name)))
    return tmp_path / "lake"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("flights/day=1", "This path is inside the table {lake}/flights."),
        ("flights/country=de/day=1/", "This path is inside the table {lake}/flights."),
        ("", "{lake} contains these tables: flights, trips."),
        ("flight", "Did you mean {lake}/flights? If not, check the base path."),
        ("orders", "Check the base path."),
        ("none/flights", "Check the base path."),
    ],
)
def test_the_hint_names_the_table_that_the_user_probably_meant(lake: Path, path: str, hint: str) -> None:
    advised = with_nearby_tables(MISSING, f"{lake}/{path}", None)
    assert advised.message == MISSING.message
    assert advised.hint.startswith(hint.format(lake=lake))


@pytest.mark.parametrize("base_path", ["memory://lake", "flights"])
def test_the_error_about_a_path_without_a_parent_folder_stays_unchanged(
    base_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_nearby_tables(MISSING, base_path, None) is MISSING


def test_the_error_stays_unchanged_if_the_storage_cannot_be_opened() -> None:
    assert with_nearby_tables(MISSING, "s3://bucket/lake/flights", {"unknown": "x"}) is MISSING


@pytest.mark.parametrize("read", [read_table_config, require_table, find_table_config])
def test_every_reader_of_a_folder_of_tables_names_the_tables(
    lake: Path, read: Callable[[Storage], object]
) -> None:
    with pytest.raises(HudiTableServiceError) as raised:
        read(LocalStorage(str(lake)))
    assert (
        raised.value.hint == f"{lake} contains these tables: flights, trips. Give the base path of one table."
    )
