"""Files that belong to no instant: laws for any timeline."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.recovery.orphans import (
    DISPLACED,
    NO_INSTANT,
    NOT_NAMED,
    ROLLED_BACK,
    KnownInstants,
    doubled_times,
    named_elsewhere,
    named_paths,
    orphan_reason,
)
from support.small_tables import base_file_name

times = st.integers(0, 9).map(lambda n: f"2026010203040500{n}")
names = st.builds(base_file_name, st.sampled_from(["f1", "f2"]), times)
sets_of_times = st.frozensets(times, max_size=4)
known_instants = st.builds(
    KnownInstants,
    first_write_time=st.one_of(st.none(), times),
    running=sets_of_times,
    named=st.dictionaries(times, st.frozensets(names, max_size=3), max_size=4),
    undone=sets_of_times,
    permanently_undone=sets_of_times,
    needed=st.frozensets(names, max_size=3),
)


def time_of(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("_")[2]


@given(names, known_instants)
def test_a_needed_file_is_not_an_orphan(name: str, known: KnownInstants) -> None:
    reason = orphan_reason(name, known)
    is_named = name in known.named.get(time_of(name), frozenset())
    if name in known.needed or time_of(name) in known.running or is_named:
        assert reason == ""


@given(names, known_instants)
def test_a_file_of_a_possibly_archived_write_is_an_orphan_only_if_the_write_was_permanently_undone(
    name: str, known: KnownInstants
) -> None:
    time = time_of(name)
    if time not in known.named and (known.first_write_time is None or time < known.first_write_time):
        assert orphan_reason(name, known) in ("", ROLLED_BACK)
        assert orphan_reason(name, known) == "" or time in known.permanently_undone


@given(st.text(max_size=30), known_instants)
def test_foreign_names_and_log_files_are_not_orphans(name: str, known: KnownInstants) -> None:
    assert orphan_reason(f"{name}.txt", known) == ""
    assert orphan_reason(".f1_20260102030405009.log.1_0-1-0", known) == ""


def test_a_file_of_an_unknown_instant_of_the_active_timeline_is_an_orphan() -> None:
    known = KnownInstants(
        first_write_time="20260102030405001",
        running=frozenset(),
        named={},
        undone=frozenset(),
        permanently_undone=frozenset(),
        needed=frozenset(),
    )
    assert orphan_reason(base_file_name("f1", "20260102030405001"), known) == NO_INSTANT
    assert orphan_reason(base_file_name("f1", "20260102030405000"), known) == ""


def known_with(**fields: Any) -> KnownInstants:
    nothing: dict[str, Any] = dict.fromkeys(
        ("running", "undone", "permanently_undone", "needed"), frozenset()
    )
    return KnownInstants(**{"first_write_time": "20260102030405001", "named": {}} | nothing | fields)


@pytest.mark.parametrize("where", ["named", "archived_named"])
def test_a_file_in_another_folder_than_in_its_metadata_is_displaced(where: str) -> None:
    time = "20260102030405001" if where == "named" else "20260102030405000"
    name = base_file_name("f1", time)
    known = known_with(**{where: {time: frozenset({f"a/{name}"})}})
    assert [orphan_reason(path, known) for path in (f"a/{name}", f"b/{name}", name)] == [
        "",
        DISPLACED,
        DISPLACED,
    ]
    assert named_elsewhere(f"b/{name}", known.named, known.archived_named) == {f"a/{name}"}
    assert named_elsewhere(f"a/{name}", known.named, known.archived_named) == frozenset()
    twin = base_file_name("f1", time, token="9-9-9")
    assert orphan_reason(f"a/{twin}", known) == (NOT_NAMED if where == "named" else "")


def test_a_copy_that_a_savepoint_or_plan_names_is_needed() -> None:
    time = "20260102030405001"
    name = base_file_name("f1", time)
    known = known_with(
        named={time: frozenset({f"a/{name}"})},
        needed=frozenset({name}),
        needed_paths=frozenset({f"b/{name}"}),
    )
    assert orphan_reason(f"b/{name}", known) == ""
    assert orphan_reason(f"c/{name}", known) == DISPLACED


@pytest.mark.parametrize(
    ("partition", "path"),
    [("x=1%2F2", "x=1%2F2/f"), ("", "f"), ("/x=1", "x=1/f"), ("x=1", "/x=1/f"), ("x=1", "s3://b/t/x=1/f")],
)
def test_a_file_is_found_under_every_spelling_of_its_path(partition: str, path: str) -> None:
    stat = WriteStat(file_id="f", partition_path=partition, path=path)
    expected = f"{partition.strip('/')}/f" if partition else "f"
    assert expected in named_paths([stat])
    assert named_paths([WriteStat(file_id="f", partition_path="x", path="")]) == frozenset()


def test_the_instant_times_of_repeated_file_names_are_found() -> None:
    old, new = base_file_name("f1", "20260102030405000"), base_file_name("f1", "20260102030405001")
    paths = [f"a/{old}", f"b/{old}", f"a/{new}", "a/part.parquet", "b/part.parquet"]
    assert doubled_times(paths) == {"20260102030405000"}
