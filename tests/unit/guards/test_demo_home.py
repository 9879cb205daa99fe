"""The folder that `make demo` and `make airflow` share: which files the demo may delete."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from airflow_stack import stack
from demo_support.folders import fresh_folder, share_with_demo


def test_the_demo_empties_the_home_of_an_airflow_with_the_examples(tmp_path: Path) -> None:
    home = tmp_path / "home"
    share_with_demo(home, is_demo=True)
    (home / "flights").mkdir()
    share_with_demo(home, is_demo=True)
    assert fresh_folder(home) == home
    assert not (home / "flights").exists()


def test_the_demo_keeps_the_home_of_an_airflow_with_other_dags(tmp_path: Path) -> None:
    for others in ([True, False, True], [False, True]):
        home = tmp_path / str(len(others))
        for is_demo in others:
            share_with_demo(home, is_demo=is_demo)
            (home / "own table").mkdir(exist_ok=True)
        with pytest.raises(SystemExit, match="contains files that the demo did not create"):
            fresh_folder(home)
        assert (home / "own table").exists()


def test_the_demo_keeps_the_home_of_a_running_airflow(tmp_path: Path) -> None:
    home = fresh_folder(tmp_path / "home")
    (home / "airflow").mkdir()
    lock = stack._claim_home(home / "airflow")
    with pytest.raises(SystemExit, match="An Airflow is running"):
        fresh_folder(home)
    with pytest.raises(stack.StackError, match="Another Airflow runs in .* make airflow HOME_FOLDER="):
        stack._claim_home(home / "airflow")
    lock.close()
    assert fresh_folder(home) == home
