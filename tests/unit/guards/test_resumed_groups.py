"""Which groups of tests a changed file affects, when a run of all groups goes on (``RESUME=1``)."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "scripts"))

import run_test_groups


def affected(path: str) -> set[str]:
    return {
        group
        for group, folders in run_test_groups.FOLDERS.items()
        if run_test_groups._may_affect(path, folders)
    }


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        ("tests/platforms/hdfs/test_killed_on_hdfs.py", {"test-platforms"}),
        ("tests/support/stores/loads.py", {"test-platforms", "test-s3"}),
        ("docs/readers.md", {"test-readers"}),
        ("docs/s3-costs.md", {"test-s3"}),
        ("docs/adr/0001-no-such-decision.md", set()),
        ("tests/platforms/a_file.json", set(run_test_groups.FOLDERS)),
        ("spark_jobs/hudi_table_services/errors.py", set(run_test_groups.FOLDERS)),
        ("tests/conftest.py", set(run_test_groups.FOLDERS)),
    ],
)
def test_a_changed_file_affects_the_groups_that_use_it(path: str, groups: set[str]) -> None:
    assert affected(path) >= groups
    assert groups or not affected(path)


def test_a_test_module_affects_no_group_without_its_folder() -> None:
    assert affected("tests/s3/test_writers_on_s3.py") == {"test-s3"}
    assert affected("tests/platforms/hdfs/test_killed_on_hdfs.py") == {"test-platforms"}
