"""A task that writes a base file refuses a slice with log files, whatever the plan says."""

from pathlib import Path

import pytest

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.file_groups import WriteTask, write_file_group
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from support.spark.file_group_tasks import write_job

TIME = "20260101000000000"


def test_the_base_file_of_a_slice_with_log_files_is_not_written_again(tmp_path: Path) -> None:
    job = write_job(str(tmp_path), TIME)
    current = FileSlice(
        file_group_id=FileGroupId("p", "f-0"),
        base_instant_time=TIME,
        base_file=BaseFile(file_id="f-0", write_token="0-1-0", instant_time=TIME),
        log_files=(LogFile(file_id="f-0", instant_time=TIME, version=1, write_token="0-1-0"),),
    )
    task = WriteTask(number=0, partition_path="p", file_id="f-0", current=current)
    with pytest.raises(UnsupportedTableError, match="its slice has log files"):
        write_file_group(job, task)
    assert not [stored for stored in job.storage.list_files() if not stored.path.startswith(".hoodie/")]
