"""Which files belong to no instant: laws that hold whatever the timeline says."""

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.planning.orphans import NO_INSTANT, ROLLED_BACK, KnownInstants, orphan_reason
from small_tables import base_file_name

times = st.integers(0, 9).map(lambda n: f"2026010203040500{n}")
names = st.builds(base_file_name, st.sampled_from(["f1", "f2"]), times)
sets_of_times = st.frozensets(times, max_size=4)
known_instants = st.builds(
    KnownInstants,
    first_write_time=st.one_of(st.none(), times),
    running=sets_of_times,
    named=st.dictionaries(times, st.frozensets(names, max_size=3), max_size=4),
    undone=sets_of_times,
    undone_for_good=sets_of_times,
    needed=st.frozensets(names, max_size=3),
)


def time_of(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("_")[2]


@given(names, known_instants)
def test_what_something_needs_is_no_orphan(name: str, known: KnownInstants) -> None:
    reason = orphan_reason(name, known)
    is_named = name in known.named.get(time_of(name), frozenset())
    if name in known.needed or time_of(name) in known.running or is_named:
        assert reason == ""


@given(names, known_instants)
def test_what_may_be_archived_is_an_orphan_only_if_it_was_undone_for_good(
    name: str, known: KnownInstants
) -> None:
    time = time_of(name)
    if time not in known.named and (known.first_write_time is None or time < known.first_write_time):
        assert orphan_reason(name, known) in ("", ROLLED_BACK)
        assert orphan_reason(name, known) == "" or time in known.undone_for_good


@given(st.text(max_size=30), known_instants)
def test_foreign_names_and_log_files_are_left_alone(name: str, known: KnownInstants) -> None:
    assert orphan_reason(f"{name}.txt", known) == ""
    assert orphan_reason(".f1_20260102030405009.log.1_0-1-0", known) == ""


def test_a_file_of_an_unknown_instant_of_the_active_timeline_is_an_orphan() -> None:
    known = KnownInstants(
        first_write_time="20260102030405001",
        running=frozenset(),
        named={},
        undone=frozenset(),
        undone_for_good=frozenset(),
        needed=frozenset(),
    )
    assert orphan_reason(base_file_name("f1", "20260102030405001"), known) == NO_INSTANT
    assert orphan_reason(base_file_name("f1", "20260102030405000"), known) == ""
