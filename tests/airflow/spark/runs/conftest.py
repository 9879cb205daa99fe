"""Supervised runs of spark-submit, in a folder of the test's own."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from supervised_runs import PATIENCE_S

from airflow_hudi_provider.spark.supervised_run import SupervisedRun


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return the log since the last call; Airflow's versions log in different ways."""
    caplog.set_level(logging.INFO)

    def tell() -> str:
        text = caplog.text + "".join(capfd.readouterr())
        caplog.clear()
        return text

    return tell


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the runs; none of their processes is left behind."""
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for folder in (tmp_path / "runs").glob("*"):
        run = SupervisedRun(folder)
        run.ask_to_end()
        run.wait_for_end(PATIENCE_S)
