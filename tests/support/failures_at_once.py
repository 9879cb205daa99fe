"""Print each failed test when it fails, because a run that is interrupted later may not print its summary."""

import pytest

LINES = 20  # maximum number of lines of one error


def register(config: pytest.Config) -> None:
    config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            terminal.write_line("")
            for line in lines_of(report):
                terminal.write_line(line)


def lines_of(report: pytest.TestReport) -> list[str]:
    """Return the name of a failed test and the first lines of its error."""
    errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    when = "" if report.when == "call" else f" ({report.when})"
    return [f"FAILED {report.nodeid}{when}", *errors[:LINES]]
