"""Compute the measures of the health report about log files and pending compactions."""

import math
from collections.abc import Callable, Iterable

from hudi_table_services.contract.health import PendingInstant
from hudi_table_services.model.compaction.slice_logs import ReadAmplification
from hudi_table_services.model.instant import Action

_COMPACTIONS = frozenset({Action.COMPACTION.value, Action.LOG_COMPACTION.value})


def log_measures(
    logs: ReadAmplification, pending: Iterable[PendingInstant], age_hours: Callable[[str], float | None]
) -> dict[str, float]:
    """Measure the log files that no compaction has merged, and the compactions that are not completed.

    All values are 0 for a copy-on-write table. If the table has log files but no base file, `log_ratio` is missing.

    Args:
        age_hours: returns the hours since an instant time; None if the digits of the instant time are not a date.
    """
    compactions = [each for each in pending if each.action in _COMPACTIONS]
    measures = {
        "file_groups_in_compactions": float(sum(each.file_groups for each in compactions)),
        "log_bytes": float(logs.log_bytes),
        "log_files": float(logs.log_files),
        "oldest_compaction_hours": round(max((each.age_s for each in compactions), default=0.0) / 3600, 3),
        "pending_compactions": float(len(compactions)),
    }
    age = age_hours(logs.oldest_log) if logs.oldest_log is not None else 0.0
    if age is not None:
        measures["oldest_log_hours"] = age
    if not math.isinf(logs.log_ratio):
        measures["log_ratio"] = round(logs.log_ratio, 4)
    return measures
