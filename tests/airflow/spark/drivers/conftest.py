"""Fixtures for tasks whose driver runs on a cluster."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from yarn_stand_in import SUBMIT, SUCCEED, ResourceManager

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator


@pytest.fixture
def manager() -> Iterator[ResourceManager]:
    running = ResourceManager()
    yield running
    running.close()


@pytest.fixture
def on_yarn(
    operator: Callable[..., UpsertWithSizingOperator],
    connections: Callable[..., None],
    manager: ResourceManager,
    tmp_path: Path,
) -> Callable[..., UpsertWithSizingOperator]:
    extra = {"yarn_resourcemanager_webapp_address": manager.address}
    connections("yarn", conn_type="spark", host="yarn", extra=extra)

    def make(body: str = SUBMIT + SUCCEED, **arguments: Any) -> UpsertWithSizingOperator:
        given = {
            "spark_conn_id": "yarn",
            "deploy_mode": "cluster",
            "yarn_track_via_rm_api": True,
            "result_base_path": str(tmp_path / "results"),
            "deferrable": True,
            **arguments,
        }
        return operator(body, **given)

    return make
