"""Describe the plan of a read in words."""

from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.model.reading.scan import ScanPlan


def explain_scan(plan: ScanPlan, state: str) -> str:
    """Return one line about what is read, and one line for each reason why slices are left out.

    Args:
        state: words that follow "Reads", such as ``the state as of 20260102030405006``.
    """
    lines = [
        f"Reads {state}: {counted(len(plan.slices), 'file slice')} of {human_bytes(plan.size_bytes)}"
        f"{_logs(plan)}."
    ]
    lines += [
        f"Skips {counted(each.slice_count, 'file slice')} of {human_bytes(each.size_bytes)}: {each.reason}."
        for each in plan.skipped
    ]
    return "\n".join([*lines, *plan.notes])


def _logs(plan: ScanPlan) -> str:
    logs = sum(len(each.log_files) for each in plan.slices)
    return f", merged with {counted(logs, 'log file')}" if logs else ""
