"""The log of a load that fails, as users read it in Airflow."""

from pathlib import Path

import pytest
from airflow_stack.api import wait_until
from airflow_stack.stack import AirflowStack

LONG = 900.0


@pytest.mark.thorough
def test_the_log_of_a_failed_load_ends_with_the_block_and_has_no_traceback(
    stack: AirflowStack, folder: Path
) -> None:
    api = stack.api
    api.wait_for_dag("refused")
    run_id = api.post("/api/v2/dags/refused/dagRuns", {"logical_date": None})["dag_run_id"]

    def state() -> str:
        return str(api.task_instances("refused", run_id)["load"]["state"])

    wait_until(lambda: state() == "failed", LONG, state)
    log = api.log("refused", run_id, "load")
    lines = [line.strip() for line in log.splitlines()]
    block = lines[lines.index("FAILED: InvalidRequestError") :]
    # The block is wrapped, so a long path of the test's folder can end a line.
    assert (
        " ".join(block)
        .partition("What happened ")[2]
        .startswith(f"The source '{folder}/no_such.parquet' does not exist.")
    )
    assert f"Table         {folder}/refused" in block
    assert "Table now     Nothing was written: there is no table yet." in block
    assert f"More          {stack.url}/hudi/static/errors.html#invalidrequesterror" in block
    assert f"Page of the table: {stack.url}/plugin/hudi-tables?table=" in log
    assert "Traceback" not in log
