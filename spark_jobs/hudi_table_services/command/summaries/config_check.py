"""Summary of a check of settings: the findings, most severe first."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid, Tone
from hudi_table_services.contract.config_check import ConfigReport, Severity
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted

_TONES = {"clean": Tone.GOOD, Severity.ERROR.value: Tone.BAD}


def details(report: ConfigReport, result: JobResult) -> Details:
    """Return the details of a check."""
    checked = f"{counted(report.options_checked, 'option', ',')} against {counted(report.rules_checked, 'rule', ',')}"
    rows = [
        (
            each.severity,
            f"{each.title} ({each.rule})",
            ", ".join(f"{key}={value}" for key, value in each.options.items()),
            each.reason,
            each.cure,
        )
        for each in report.findings
    ]
    return Details(
        verdict="no findings" if report.status == "clean" else counted(len(rows), "finding"),
        tone=_TONES.get(report.status, Tone.WARNING),
        sentences=[each.reason for each in report.findings],
        facts=(("Checked", checked), ("Table", report.table)),
        grids=(
            Grid(columns=("severity", "finding", "settings", "reason", "cure"), rows=rows, noun="finding"),
        ),
    )
