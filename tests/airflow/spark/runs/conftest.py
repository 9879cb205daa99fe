"""Fixtures for supervised runs of spark-submit in a temporary folder."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from supervised_runs import TIMEOUT_S

from airflow_hudi_provider.spark.supervised_run import SupervisedRun


@pytest.fixture
def read_log(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return the text logged since the last call; different versions of Airflow log to different outputs."""
    caplog.set_level(logging.INFO)

    def read_new_text() -> str:
        text = caplog.text + "".join(capfd.readouterr())
        caplog.clear()
        return text

    return read_new_text


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the runs. After the test, the fixture ends all processes of the runs."""
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for folder in (tmp_path / "runs").glob("*"):
        run = SupervisedRun(folder)
        run.ask_to_end()
        run.wait_for_end(TIMEOUT_S)
