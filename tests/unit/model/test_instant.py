"""Names of instant files: parsing, writing, and refused names."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.instant import Action, Instant, InstantState, is_instant_name
from hudi_table_services.model.table_version import TimelineLayout

V1, V2 = TimelineLayout.V1, TimelineLayout.V2
REQUESTED, INFLIGHT, COMPLETED = InstantState.REQUESTED, InstantState.INFLIGHT, InstantState.COMPLETED
TS, CTS = "20261121053502963", "20261121053503441"

TIMES = st.from_regex(r"[0-9]{14}([0-9]{3}){0,2}", fullmatch=True)

NAMES = [
    (V1, f"{TS}.commit.requested", Action.COMMIT, REQUESTED),
    (V1, f"{TS}.inflight", Action.COMMIT, INFLIGHT),
    (V1, f"{TS}.commit", Action.COMMIT, COMPLETED),
    (V1, f"{TS}.deltacommit.inflight", Action.DELTA_COMMIT, INFLIGHT),
    (V1, f"{TS}.replacecommit.requested", Action.REPLACE_COMMIT, REQUESTED),
    (V1, f"{TS}.compaction.requested", Action.COMPACTION, REQUESTED),
    (V1, f"{TS}.clean", Action.CLEAN, COMPLETED),
    (V1, f"{TS}.savepoint.inflight", Action.SAVEPOINT, INFLIGHT),
    (V2, f"{TS}.inflight", Action.COMMIT, INFLIGHT),
    (V2, f"{TS}_{CTS}.commit", Action.COMMIT, COMPLETED),
    (V2, f"{TS}.clustering.requested", Action.CLUSTERING, REQUESTED),
    (V2, f"{TS}_{CTS}.replacecommit", Action.REPLACE_COMMIT, COMPLETED),
    (V2, f"{TS}.logcompaction.inflight", Action.LOG_COMPACTION, INFLIGHT),
    (V2, f"{TS}_{CTS}.indexing", Action.INDEXING, COMPLETED),
    (V2, f"{TS}_{CTS}.restore", Action.RESTORE, COMPLETED),
]


@st.composite
def instants(draw: st.DrawFn, layout: TimelineLayout) -> Instant:
    state = draw(st.sampled_from(InstantState))
    has_completion = state is COMPLETED and layout is V2
    return Instant(
        requested_time=draw(TIMES),
        action=draw(st.sampled_from(Action)),
        state=state,
        completion_time=draw(TIMES) if has_completion else None,
    )


@pytest.mark.parametrize(("layout", "name", "action", "state"), NAMES)
def test_instant_file_names_are_those_of_hudi(
    layout: TimelineLayout, name: str, action: Action, state: InstantState
) -> None:
    instant = Instant.from_file_name(name, layout)
    assert (instant.requested_time, instant.action, instant.state) == (TS, action, state)
    assert instant.completion_time == (CTS if "_" in name else None)
    assert instant.file_name(layout) == name
    assert is_instant_name(name)


@pytest.mark.parametrize("layout", TimelineLayout)
@given(data=st.data())
def test_an_instant_is_parsed_back_from_its_file_name(layout: TimelineLayout, data: st.DataObject) -> None:
    instant = data.draw(instants(layout))
    assert Instant.from_file_name(instant.file_name(layout), layout) == instant


@given(st.text() | st.text("0123456789_.acdefghilmnopqrstuvx", max_size=40), st.sampled_from(TimelineLayout))
def test_arbitrary_text_raises_no_other_error_than_malformed_file_name(
    text: str, layout: TimelineLayout
) -> None:
    with contextlib.suppress(MalformedFileNameError):
        Instant.from_file_name(text, layout)


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        (V1, f"{TS}_{CTS}.commit"),
        (V2, f"{TS}.commit"),
        (V2, f"{TS}_{CTS}.commit.requested"),
        (V2, f"{TS}_{CTS}.inflight"),
        (V1, f"{TS}.commit.done"),
        (V1, f"{TS}.merge"),
        (V1, f"{TS}.requested"),
        (V1, "2026112105350.commit"),
        (V1, f"{TS}.commit\n"),
        (V1, "٢" * 17 + ".commit"),
        (V1, "hoodie.properties"),
        (V1, f".{TS}.commit.crc"),
        (V1, ""),
    ],
)
def test_other_names_are_refused(layout: TimelineLayout, name: str) -> None:
    with pytest.raises(MalformedFileNameError):
        Instant.from_file_name(name, layout)


@pytest.mark.parametrize("name", ["hoodie.properties", "archived", f".{TS}.commit.crc", "lock", "history"])
def test_names_of_other_files_on_the_timeline_are_not_instant_names(name: str) -> None:
    assert not is_instant_name(name)


@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        (Action.COMPACTION, Action.COMMIT),
        (Action.LOG_COMPACTION, Action.DELTA_COMMIT),
        (Action.CLUSTERING, Action.REPLACE_COMMIT),
        (Action.COMMIT, Action.COMMIT),
        (Action.CLEAN, Action.CLEAN),
    ],
)
def test_an_instant_keeps_its_identity_when_it_completes(pending: Action, completed: Action) -> None:
    before = Instant(requested_time=TS, action=pending, state=INFLIGHT)
    after = Instant(requested_time=TS, action=completed, state=COMPLETED, completion_time=CTS)
    assert before.identity == after.identity


def test_only_writes_add_file_slices() -> None:
    assert {action for action in Action if action.writes_data} == {
        Action.COMMIT,
        Action.DELTA_COMMIT,
        Action.REPLACE_COMMIT,
        Action.CLUSTERING,
        Action.COMPACTION,
        Action.LOG_COMPACTION,
    }


def test_a_change_is_visible_from_its_completion_time_if_that_time_is_known() -> None:
    assert Instant(requested_time=TS, action=Action.COMMIT, state=COMPLETED).visible_from == TS
    completed = Instant(requested_time=TS, action=Action.COMMIT, state=COMPLETED, completion_time=CTS)
    assert completed.visible_from == CTS
