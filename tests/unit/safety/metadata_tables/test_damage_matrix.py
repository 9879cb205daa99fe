"""Every file of a metadata table is lost or damaged before each job: the job succeeds, or is refused without a change.

`TEST_DEPTH=all` damages each file in each way before each job. By default, writes run with some of the damaged files.
"""

from collections.abc import Mapping
from functools import cache

import pytest

from hudi_table_services.commits.metadata_table.undo import undo_delta_commit
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage import table_store, timeline_store
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.metadata_table.all_indexes import with_all_indexes
from support.metadata_table.built_tables import opened
from support.metadata_table.checked_tables import check_end
from support.metadata_table.damaged_files import (
    DAMAGES,
    changed_files,
    check_answers,
    files_to_damage,
    is_reported,
    live_rows,
    names_damage,
    stored_bytes,
    unchecked_place,
)
from support.metadata_table.maintained_table_jobs import JOBS, RunJob
from support.metadata_table.maintained_tables import access, copied, ticking

UNDOING = ("rollback of a dead write", "rollback of a commit", "restore", "cancel clustering")
"""Jobs that undo pending or completed instants, and add nothing to the metadata table.

They must also run on an outdated metadata table, because a rebuild refuses a table with pending writes.
"""
CURE = "rebuild_metadata_table.py"
EVERY = int(number_from("FAIL_EVERY", 24, 1))
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
SAMPLED_JOB = "write"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read damaged files again without a pause."""
    monkeypatch.setattr(timeline_store, "_PAUSES", (0.0,))
    monkeypatch.setattr(table_store, "_READ_PAUSE_SECONDS", 0.0)


@cache
def prepared(job: str, version: TableVersion) -> tuple[Storage, RunJob, list[tuple[str, bytes]]]:
    """The table before the job, the job, and the rows after the job."""
    storage = copied(with_all_indexes(version))
    run = JOBS[job](storage, ticking(0.5))
    whole = copied(storage)
    run(whole, ticking(2))
    return storage, run, live_rows(whole)


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("job", cases(list(JOBS), [SAMPLED_JOB]))
def test_a_job_succeeds_or_is_refused_without_a_change(job: str, damage: str, version: TableVersion) -> None:
    start, run, rows = prepared(job, version)
    first = (7 * list(DAMAGES).index(damage)) % EVERY
    paths = files_to_damage(start)[first::EVERY]
    for path in paths:
        storage = copied(start)
        DAMAGES[damage](storage, path)
        try:
            check_damaged(storage, run, rows, path, start.read(path))
        except Exception as error:
            error.add_note(f"{path}: {damage}")
            raise
    tried(f"{job}, damaged metadata table", len(paths))


def check_damaged(
    storage: Storage, run: RunJob, rows: list[tuple[str, bytes]], path: str, content: bytes
) -> None:
    before = stored_bytes(storage)
    place = unchecked_place(path, content, before[path]) if path in before else ""
    check_answers(storage, "before the job")
    try:
        run(storage, ticking(2))
    except HudiTableServiceError as error:
        check_refusal(storage, error, path, before)
        return
    assert live_rows(storage) == rows
    check_answers(storage, "after the job")
    if not is_reported(storage):
        check_end(storage, place or "not reported")
        was_changed = len(before.get(path, b"")) == len(content)
        stayed = was_changed and stored_bytes(storage).get(path) == before[path]
        assert place or not stayed, "a checksum covers the damage, but the health report does not contain it"


def check_refusal(
    storage: Storage, error: HudiTableServiceError, path: str, before: Mapping[str, bytes]
) -> None:
    assert changed_files(before, stored_bytes(storage)) == []
    assert names_damage(error.path, str(error), path), repr(error)
    assert CURE in str(error), repr(error)


@VERSIONS
@pytest.mark.parametrize("job", cases(list(JOBS), [SAMPLED_JOB, "clean"]))
def test_a_metadata_table_that_a_writer_ignored_is_refused_reported_or_built_again(
    job: str, version: TableVersion
) -> None:
    start, run, rows = prepared(job, version)
    storage = copied(start)
    ignored = access(storage, ticking()).load_timeline().completed_writes[1].requested_time
    assert undo_delta_commit(opened(storage), ignored)
    before = stored_bytes(storage)
    check_answers(storage, "before the job")
    if job in UNDOING:
        run(storage, ticking(2))
        assert live_rows(storage) == rows
        check_answers(storage, "after the job")
        if not is_reported(storage):  # the restore has built the metadata table again
            check_end(storage, "after the job")
        return
    with pytest.raises(HudiTableServiceError, match=CURE) as caught:
        run(storage, ticking(2))
    assert f"lacks completed instants of the table: {ignored}" in caught.value.message
    assert changed_files(before, stored_bytes(storage)) == []
