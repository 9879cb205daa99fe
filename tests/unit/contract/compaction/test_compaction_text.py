"""Compactions in words."""

import pytest

from hudi_table_services.contract.compaction.compaction import UnmergedLogs
from hudi_table_services.contract.compaction.compaction_text import logs_in_words


@pytest.mark.parametrize(
    ("log_bytes", "share"), [(170, "17 %"), (2500, "250 %"), (4, "0.4 %"), (3_000_000, "300,000 %")]
)
def test_the_size_of_log_files_is_a_percentage_of_the_size_of_the_base_files(
    log_bytes: int, share: str
) -> None:
    logs = UnmergedLogs(slices=1, slices_total=2, log_files=3, log_bytes=log_bytes, base_bytes=1000)
    assert logs_in_words(logs).endswith(f" in 1 of 2 file slices, {share} of the size of the base files")
