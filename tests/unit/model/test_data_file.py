"""Names of base files and log files: parsing, writing, and refused names."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BASE_FILE_EXTENSIONS, BaseFile, LogFile, WriteToken
from hudi_table_services.model.file_group import FileGroupId, FileSlice

ID = "48c79efb-8f9c-49fb-a5ae-62f9954186b7-0"
TS = "20261121051541055"

WORDS = st.text(st.characters(exclude_characters="_./", exclude_categories=["Cs"]), min_size=1, max_size=12)
TIMES = st.from_regex(r"[0-9]{14}([0-9]{3}){0,2}", fullmatch=True)
TOKENS = st.builds(WriteToken, task_partition=st.integers(0), stage=st.integers(0), attempt=st.integers(0))

BASE_FILES = st.builds(
    BaseFile,
    file_id=WORDS,
    write_token=TOKENS.map(str) | WORDS,
    instant_time=TIMES,
    extension=st.sampled_from(sorted(BASE_FILE_EXTENSIONS)),
    size_bytes=st.integers(-1, 2**40),
)
LOG_FILES = st.builds(
    LogFile,
    file_id=WORDS,
    instant_time=TIMES,
    version=st.integers(1, 10**6),
    write_token=st.none() | TOKENS.map(str),
    is_cdc=st.booleans(),
    size_bytes=st.integers(-1, 2**40),
)


@given(BASE_FILES)
def test_a_base_file_is_parsed_back_from_its_name(file: BaseFile) -> None:
    assert BaseFile.from_file_name(file.file_name, file.size_bytes) == file


@given(LOG_FILES)
def test_a_log_file_is_parsed_back_from_its_name(file: LogFile) -> None:
    assert LogFile.from_file_name(file.file_name, file.size_bytes) == file


@given(st.text() | st.text("0123456789-_.logparquetcd/", max_size=60))
def test_arbitrary_text_raises_no_other_error_than_malformed_file_name(text: str) -> None:
    for parse in (BaseFile.from_file_name, LogFile.from_file_name):
        with contextlib.suppress(MalformedFileNameError):
            parse(text)


@given(BASE_FILES, LOG_FILES)
def test_no_name_is_valid_for_both_a_base_file_and_a_log_file(base: BaseFile, log: LogFile) -> None:
    with pytest.raises(MalformedFileNameError):
        LogFile.from_file_name(base.file_name)
    with pytest.raises(MalformedFileNameError):
        BaseFile.from_file_name(log.file_name)


def test_a_base_file_name_of_hudi_is_parsed() -> None:
    file = BaseFile.from_file_name(f"{ID}_1-835-1091_{TS}.parquet", 434743)
    token = WriteToken(task_partition=1, stage=835, attempt=1091)
    assert file == BaseFile(file_id=ID, write_token=str(token), instant_time=TS, size_bytes=434743)


def test_a_file_id_may_contain_dots() -> None:
    assert BaseFile.from_file_name(f"a.b.c-0_1-2-3_{TS}.parquet").file_id == "a.b.c-0"


@pytest.mark.parametrize(
    ("name", "version", "token", "is_cdc"),
    [
        (f".{ID}_{TS}.log.2_0-2844-4757", 2, "0-2844-4757", False),
        (f".{ID}_{TS}.log.1_1-0-1", 1, "1-0-1", False),
        (f".{ID}_{TS}.log.1_0-1-2-cdc", 1, "0-1-2", True),
        (f".{ID}_{TS}.log.3", 3, None, False),
    ],
)
def test_log_file_names_of_hudi_are_parsed(name: str, version: int, token: str | None, is_cdc: bool) -> None:
    file = LogFile.from_file_name(name)
    assert (file.file_id, file.instant_time) == (ID, TS)
    assert (file.version, file.write_token, file.is_cdc) == (version, token, is_cdc)
    assert file.file_name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".hoodie_partition_metadata",
        f"{ID}_1-2-3_{TS}.parquet.crc",
        f".{ID}_1-2-3_{TS}.parquet.crc",
        f"{ID}_1-2-3_{TS}.txt",
        f"{ID}_{TS}.parquet",
        f"under_score_1-2-3_{TS}.parquet",
        f".a_1-2-3_{TS}.parquet",
        f"a/{ID}_1-2-3_{TS}.parquet",
        f"{ID}_1-2-3_{TS}.parquet\n",
        f"{ID}_1-2-3_{'٢' * 17}.parquet",
        f".{ID}_{TS}.log.x",
        f".{ID}_{TS}.log.{'9' * 5000}",
        f".{ID}_{TS}.log.1_1-2",
        f"{ID}_{TS}.log.1_1-2-3",
        "part-00000.snappy.parquet",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    for parse in (BaseFile.from_file_name, LogFile.from_file_name):
        with pytest.raises(MalformedFileNameError):
            parse(name)


def file_slice(partition_path: str, *, base: bool = True) -> FileSlice:
    return FileSlice(
        file_group_id=FileGroupId(partition_path, "f1-0"),
        base_instant_time=TS,
        base_file=BaseFile(file_id="f1-0", write_token="0-1-2", instant_time=TS, size_bytes=100)
        if base
        else None,
        log_files=(LogFile(file_id="f1-0", instant_time=TS, version=1, size_bytes=7),),
    )


def test_the_path_of_a_slice_starts_at_the_base_path() -> None:
    assert file_slice("2026/11").base_file_path == f"2026/11/f1-0_0-1-2_{TS}.parquet"
    assert file_slice("").base_file_path == f"f1-0_0-1-2_{TS}.parquet"
    assert file_slice("a", base=False).base_file_path is None


def test_the_size_of_a_slice_includes_its_log_files() -> None:
    assert file_slice("a").size_bytes == 107
    assert file_slice("a", base=False).size_bytes == 7


def test_the_string_form_of_a_file_group_contains_its_partition() -> None:
    assert [str(FileGroupId("a", "f1-0")), str(FileGroupId("", "f1-0"))] == ["a/f1-0", "./f1-0"]
