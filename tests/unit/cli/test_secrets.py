"""Credentials for storage never appear in logs, results or errors, or in the files of the table."""

import json
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services import cli
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.archival import ARCHIVE
from hudi_table_services.services.catalog import SYNC_CATALOG
from hudi_table_services.services.cleaning import CLEAN
from hudi_table_services.services.clustering import CANCEL_CLUSTERING, SCHEDULE_CLUSTERING
from hudi_table_services.services.compaction import CANCEL_COMPACTION, SCHEDULE_COMPACTION
from hudi_table_services.services.config_check import CHECK_CONFIG
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.metadata_table import REBUILD_METADATA_TABLE
from hudi_table_services.services.orphans import REPAIR_ORPHAN_FILES
from hudi_table_services.services.recovery import RESTORE, ROLLBACK
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.services.savepoints import CREATE_SAVEPOINT, DELETE_SAVEPOINT
from hudi_table_services.services.service import Script
from hudi_table_services.storage.stores.local import LocalStorage
from support.catalogs.small_metastore import SmallMetastore, running_metastore
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

CANARY = "canary-5d1e8"
OPTIONS = {"aws_access_key_id": "key", "aws_secret_access_key": CANARY, "aws_session_token": CANARY}

JOBS: list[tuple[Script[Any], dict[str, Any]]] = [
    (TABLE_HEALTH, {}),
    (CHECK_CONFIG, {"options": {"hoodie.datasource.hive_sync.password": CANARY}}),
    (SCHEDULE_CLUSTERING, {}),
    (CANCEL_CLUSTERING, {}),
    (SCHEDULE_COMPACTION, {}),
    (CANCEL_COMPACTION, {}),
    (CLEAN, {"commits_retained": 1, "options": {"hoodie.airflow.clean.floor.hours": "0"}}),
    (
        ARCHIVE,
        {"min_commits": 2, "max_commits": 3, "options": {"hoodie.clean.commits.retained": "1"}},
    ),
    (CREATE_SAVEPOINT, {"comments": "keep"}),
    (RESTORE, {"savepoint": "{last}"}),
    (DELETE_SAVEPOINT, {"instants": ["{last}"]}),
    (ROLLBACK, {"all_failed": True}),
    (REPAIR_ORPHAN_FILES, {"execute": True, "older_than_hours": 0}),
    (REBUILD_METADATA_TABLE, {"partitions": ["files"]}),
    (SYNC_CATALOG, {"metastore_uris": "{metastore}"}),
]

FOR_MERGE_ON_READ = (SCHEDULE_COMPACTION, CANCEL_COMPACTION)
"""Scripts whose jobs refuse copy-on-write tables."""


def test_every_job_without_spark_is_tested() -> None:
    without_spark = {each for service in SERVICES for each in service.scripts if not each.needs_spark}
    assert {script.file_name for script, _ in JOBS} == {each.file_name for each in without_spark}


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


class RecordedJobs:
    """Runs jobs and searches their output, logs and files for the secret."""

    def __init__(
        self, folder: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        self._folder, self._capfd, self._caplog = folder, capfd, caplog
        caplog.set_level(logging.DEBUG)

    def run(self, script: Script[Any], base_path: str, fields: dict[str, Any], **options: str) -> int:
        request = {"contract_version": 1, "base_path": base_path, "storage_options": options or OPTIONS}
        request |= {"result_path": str(self._folder / "result.json"), **fields}
        document = self._folder / "request.json"
        document.write_text(json.dumps(request), encoding="utf-8")
        try:
            return cli.main(script, [f"--request={document}"])
        finally:
            document.unlink()  # only this file may contain the secret

    def assert_no_secret(self) -> None:
        captured = self._capfd.readouterr()
        assert CANARY not in captured.out + captured.err + self._caplog.text
        holding = [p for p in self._folder.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]
        assert holding == []


@pytest.fixture
def recorded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> RecordedJobs:
    return RecordedJobs(tmp_path, capfd, caplog)


@pytest.fixture
def metastore() -> Iterator[SmallMetastore]:
    with running_metastore() as running:
        yield running


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda version: version.name)
def test_jobs_that_succeed_reveal_no_secret(
    recorded: RecordedJobs, tmp_path: Path, version: TableVersion, metastore: SmallMetastore
) -> None:
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
    table = SmallTable(LocalStorage(str(tmp_path / "t")), version, clock)
    last = [table.commit(FileGroupId("a", "f1")) for _ in range(6)][-1].requested_time
    merge_on_read = "merge_on_read"
    SmallTable(
        LocalStorage(str(tmp_path / merge_on_read)),
        version,
        clock,
        more_properties={"hoodie.table.type": "MERGE_ON_READ"},
    )
    dead = table.begin()
    for script, fields in JOBS:
        given = json.loads(json.dumps(fields).replace("{last}", last).replace("{metastore}", metastore.uri))
        path = merge_on_read if script in FOR_MERGE_ON_READ else "t"
        assert recorded.run(script, str(tmp_path / path), given) == 0, script
        recorded.assert_no_secret()
    assert dead not in table.timeline_store.load().pending


@pytest.mark.parametrize("job", JOBS, ids=[script.file_name for script, _ in JOBS])
@pytest.mark.parametrize(
    ("base_path", "options"),
    [
        ("{folder}/no table", OPTIONS),
        ("s3://bucket/t", {**OPTIONS, "aws_regoin": CANARY}),
        ("s3://bucket/t", {**OPTIONS, "aws_endpoint": f"no url: {CANARY}"}),
        ("s3://bucket/t", {**OPTIONS, "aws_endpoint": f"http://user:{CANARY}@127.0.0.1:1"}),
    ],
    ids=["no table", "no such setting", "endpoint", "endpoint with a password"],
)
def test_jobs_that_fail_reveal_no_secret(
    recorded: RecordedJobs,
    tmp_path: Path,
    job: tuple[Script[Any], dict[str, Any]],
    base_path: str,
    options: dict[str, str],
) -> None:
    script, fields = job
    given = json.loads(
        json.dumps(fields)
        .replace("{last}", "20260101000000000")
        .replace("{metastore}", "thrift://localhost:9")
    )
    needs_table = script is not CHECK_CONFIG or "://" in base_path
    expected = (64, 66) if needs_table else (0,)
    assert recorded.run(script, base_path.format(folder=tmp_path), given, **options) in expected
    recorded.assert_no_secret()
