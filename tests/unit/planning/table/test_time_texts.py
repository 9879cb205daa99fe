"""Strings that are dates or times: which columns count as such, and the query that a warning proposes."""

import pytest

from hudi_table_services.planning.table.time_texts import types_of_times, warn_of_time_texts


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2026-01-02", None, "1999-12-31"], "DATE"),
        (["2026-01-02T03:04:05Z"], "TIMESTAMP"),
        (["2026-01-02 03:04", "2026-01-02T03:04:05.678901+02:00"], "TIMESTAMP"),
        (["2026-01-02", "2026-01-02T03:04:05+0200"], "TIMESTAMP"),
        (["2026-01-02", "unknown"], ""),
        (["2026-01-02", ""], ""),
        (["2026-01-02 or later"], ""),
        (["2026", "20260102", "03:04:05"], ""),
        ([None], ""),
        ([], ""),
    ],
)
def test_a_column_contains_times_if_each_value_is_one(values: list[str | None], expected: str) -> None:
    found = types_of_times(["id", "at"], [("x", value) for value in values])
    assert found == ({"at": expected} if expected else {})


def test_the_warning_names_the_columns_and_a_query_that_keeps_all_columns() -> None:
    (warning,) = warn_of_time_texts({"day": "DATE", "at": "TIMESTAMP"}, ["id", "day", "name", "at"])
    assert "as strings: day, at." in warning
    assert warning.endswith(
        "SELECT id, CAST(day AS DATE) AS day, name, CAST(at AS TIMESTAMP) AS at FROM source"
    )
    assert warn_of_time_texts({}, ["id"]) == ()
