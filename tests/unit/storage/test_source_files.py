"""The first file of a source: which files and folders Spark reads, globs, and errors about missing sources."""

from pathlib import Path

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.source_files import SourceFile, first_source_files, source_files


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")


def found(path: str) -> SourceFile:
    return first_source_files(path, {})[0]


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        (["a.csv"], "a.csv", "a.csv"),
        (["in/b.csv", "in/a.csv", "in/_SUCCESS", "in/.a.crc"], "in", "in/a.csv"),
        (["in/_tmp/a.csv", "in/x/y/b.csv"], "in/", "in/x/y/b.csv"),
        (["in/_year=2026/a.csv"], "in", "in/_year=2026/a.csv"),
        (["in/b.csv", "in/a.txt"], "in/*.csv", "in/b.csv"),
        (["2026-01/a.csv", "2026-02/a.csv"], "2026-0[2-9]/*", "2026-02/a.csv"),
        (["2026-01/a.csv", "2026-02/a.csv"], "2026-0[^1]", "2026-02/a.csv"),
        (["x/a.csv", "y/a.csv", "z/a.csv"], "{y,z}/?.csv", "y/a.csv"),
        (["a b%20c.csv"], "a b%20c.csv", "a b%20c.csv"),
    ],
)
def test_the_first_file_that_spark_reads_is_found(
    tmp_path: Path, files: list[str], path: str, expected: str
) -> None:
    put(tmp_path, *files)
    for address in (f"{tmp_path}/{path}", f"file:{tmp_path}/{path}", f"file://{tmp_path}/{path}"):
        assert found(address).uri == f"{tmp_path}/{expected}"


def test_a_relative_path_begins_at_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "in/a.csv")
    monkeypatch.chdir(tmp_path)
    assert found("in/a.csv").uri == f"{tmp_path}/in/a.csv"


def test_folders_between_the_source_and_the_file_are_partition_columns(tmp_path: Path) -> None:
    put(tmp_path, "day=1/in/month=2/city=a/x.csv")
    assert found(f"{tmp_path}/day=1/in").partition_columns == ("month", "city")
    assert found(f"{tmp_path}/day=*/in/month=2/city=a/x.csv").partition_columns == ()


def test_all_files_are_listed_in_the_order_of_their_paths(tmp_path: Path) -> None:
    put(tmp_path, "in/b.csv", "in/a/z.csv", "in/a.csv", "in/_x", "other/c.csv")
    listed = [each.stored.path for each in source_files(f"{tmp_path}/{{in,other}}", {})]
    assert listed == ["in/a.csv", "in/a/z.csv", "in/b.csv", "other/c.csv"]


def test_the_error_about_a_missing_source_lists_its_folder(tmp_path: Path) -> None:
    put(tmp_path, *(f"{number}.csv" for number in range(7)), "sub/x")
    with pytest.raises(
        InvalidRequestError, match=r"/x' does not exist. .* contains: 0.csv, 1.csv, 2.csv and 5 more\."
    ):
        found(f"{tmp_path}/x")


def test_the_error_about_a_misspelled_source_begins_with_the_similar_name(tmp_path: Path) -> None:
    put(tmp_path, *(f"{number}.csv" for number in range(7)), "trips.csv")
    with pytest.raises(
        InvalidRequestError,
        match=r"Did you mean trips.csv\? .* contains: trips.csv, 0.csv, 1.csv and 5 more\.",
    ):
        found(f"{tmp_path}/tripz.csv")


@pytest.mark.parametrize(
    ("missing", "proposed"),
    [("nope.parquet", ""), ("orders.csv", "orders.parquet"), ("ORDER.parquet", "orders.parquet")],
)
def test_only_a_name_that_is_similar_without_its_ending_is_proposed(
    tmp_path: Path, missing: str, proposed: str
) -> None:
    put(tmp_path, "o2.parquet", "orders.parquet")
    with pytest.raises(InvalidRequestError) as refused:
        found(f"{tmp_path}/{missing}")
    question = f"Did you mean {proposed}? " if proposed else ""
    assert refused.value.hint.startswith(f"{question}{tmp_path} contains: o")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("none/a.csv", "does not exist"),
        ("hidden", "no files that Spark reads"),
        ("empty", "no files that Spark reads"),
        ("*.parquet", "No file matches"),
        ("empty/*", "No file matches"),
    ],
)
def test_sources_without_files_are_refused(tmp_path: Path, path: str, expected: str) -> None:
    put(tmp_path, "hidden/_SUCCESS")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequestError, match=expected):
        found(f"{tmp_path}/{path}")


def test_a_host_after_two_slashes_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="Write file:///"):
        first_source_files("file://in/orders.parquet", {})


def test_the_error_about_a_missing_date_lists_the_neighbours_and_proposes_no_other_date(
    tmp_path: Path,
) -> None:
    put(tmp_path, *(f"orders/2026-11-0{day}/a.csv" for day in (1, 2, 3, 5, 6, 7)))
    with pytest.raises(InvalidRequestError, match="does not exist") as missing:
        found(str(tmp_path / "orders" / "2026-11-04"))
    assert (
        "2026-11-03/, 2026-11-05/, 2026-11-06/. If the files for 2026-11-04 can come later"
        in missing.value.hint
    )
    assert "Did you mean" not in missing.value.hint
