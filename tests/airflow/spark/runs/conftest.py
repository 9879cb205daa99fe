"""Fixtures for supervised runs of spark-submit in a temporary folder."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from supervised_runs import PATIENCE_S

from airflow_hudi_provider.spark.supervised_run import SupervisedRun


@pytest.fixture
def read_log(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return the text logged since the last call; Airflow's versions log in different ways."""
    caplog.set_level(logging.INFO)

    def read_new_text() -> str:
        text = caplog.text + "".join(capfd.readouterr())
        caplog.clear()
        return text

    return read_new_text


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the runs; the fixture ends all their processes afterwards."""
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for folder in (tmp_path / "runs").glob("*"):
        run = SupervisedRun(folder)
        run.ask_to_end()
        run.wait_for_end(PATIENCE_S)
