"""The findings of a check of settings as lines of text, for logs and terminals."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import ConfigFinding, ConfigReport, Severity


def config_lines(report: ConfigReport) -> list[str]:
    """Verdict first, then each finding with what to do."""
    lines = [config_verdict(report)]
    for each in report.findings:
        lines += finding_lines(each)
    return lines


def config_verdict(report: ConfigReport) -> str:
    """The report in one line."""
    counts = [
        f"{count} of severity {severity.value}"
        for severity in Severity
        if (count := sum(each.severity == severity.value for each in report.findings))
    ]
    looked = f"{report.options_checked} options by {report.rules_checked} rules"
    beside = f", beside table {report.table}" if report.table else ""
    return f"{report.status.upper()}: {', '.join(counts) or 'no findings'} in {looked}{beside}"


def finding_lines(finding: ConfigFinding) -> Iterator[str]:
    """The rule and its settings, the reason, the cure, the source."""
    settings = ", ".join(f"{key}={value}" for key, value in finding.options.items())
    yield f"  {finding.severity} {finding.rule}: {settings}"
    yield f"    {finding.reason}"
    yield f"    cure: {finding.cure}"
    yield f"    source: {finding.source}"
