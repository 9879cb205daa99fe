"""Summary of a check of settings: the findings, most severe first."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid, Tone
from hudi_table_services.contract.config_check import ConfigReport, Severity
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted

_TONES = {"clean": Tone.GOOD, Severity.ERROR.value: Tone.BAD}


def _verdict(report: ConfigReport) -> str:
    if report.findings:
        return counted(len(report.findings), "finding")
    return "no findings" if report.options_checked else "no findings, but no options were given"


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
        verdict=_verdict(report),
        tone=_TONES.get(report.status, Tone.WARNING),
        sentences=[each.reason for each in report.findings],
        facts=(("Checked", checked), ("Table", report.table)),
        grids=(
            Grid(columns=("severity", "finding", "settings", "reason", "cure"), rows=rows, noun="finding"),
        ),
    )
