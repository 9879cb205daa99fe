"""The command `hudi-services` with Spark: writes in a pipe, a clustering and an interrupted write on a terminal."""

import json
import sys
from pathlib import Path

import pytest

from e2e.job_processes import environment, run, spark_settings
from e2e.orders import orders, stored, table_flags, write_parquet
from judges.hudi_rs import read_snapshot
from support.command.terminal import run_on_a_terminal, without_control

FIRST = orders(range(300))
PROGRAM = Path(sys.executable).with_name("hudi-services")


@pytest.mark.thorough
def test_a_write_in_a_pipe_and_a_clustering_on_a_terminal(tmp_path: Path) -> None:
    base_path = tmp_path / "orders"
    variables = environment(spark_settings(tmp_path / "conf", spark__master="local[2]"))
    source = write_parquet(FIRST, tmp_path / "landing" / "orders.parquet")
    flags = table_flags(base_path, source_path=str(source), request_id="load-1")
    written = run([PROGRAM, "upsert", *flags], variables, tmp_path / "run")
    assert written.exit_code == 0, written.log
    assert (written.result.rows.inserted, stored(base_path)) == (300, FIRST)

    exit_code, received = run_on_a_terminal(
        [PROGRAM, "cluster", base_path, "--sort-columns", "region"], variables, longest_s=150.0
    )
    text = without_control(received)
    assert exit_code == 0, text
    assert "✓ cluster" in text
    assert "files after" in text
    assert [line for line in text.splitlines() if " WARN " in line or " INFO " in line] == []
    assert "incubator modules" not in text
    assert stored(base_path) == FIRST

    shown = run([PROGRAM, "show", "timeline", base_path], variables, tmp_path / "run")
    operations = [each["operation"] for each in json.loads(shown.output)["instants"]]
    assert operations == ["cluster", "upsert"]


@pytest.mark.thorough
def test_times_of_a_csv_file_do_not_depend_on_the_time_zone_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("id,at\n1,2026-03-29 01:30:00\n2,2026-03-29 02:30:00\n")
    settings = spark_settings(tmp_path / "conf", spark__master="local[2]")
    flags = ("--table-name", "times", "--record-key", "id", "--source-path", tmp_path / "times.csv")
    reader = (
        "--source-format",
        "csv",
        "--source-option",
        "header=true",
        "--source-option",
        "inferSchema=true",
    )
    command = [PROGRAM, "upsert", tmp_path / "times", *flags, *reader]
    # In Berlin, the clocks of this night do not show the second time.
    written = run(command, {**environment(settings), "TZ": "Europe/Berlin"}, tmp_path / "run")
    assert written.exit_code == 0, written.log
    times = read_snapshot(tmp_path / "times").sort_by("id")["at"].to_pylist()
    assert [str(each) for each in times] == ["2026-03-29 01:30:00+00:00", "2026-03-29 02:30:00+00:00"]


@pytest.mark.thorough
@pytest.mark.parametrize("is_first", [True, False], ids=["new table", "existing table"])
def test_an_interrupted_write_is_rolled_back_and_says_so_on_a_terminal(
    tmp_path: Path, is_first: bool
) -> None:
    base_path = tmp_path / "orders"
    variables = environment(spark_settings(tmp_path / "conf", spark__master="local[2]"))
    if not is_first:
        source = write_parquet(FIRST, tmp_path / "landing" / "first.parquet")
        written = run(
            [PROGRAM, "upsert", *table_flags(base_path, source_path=str(source))], variables, tmp_path / "run"
        )
        assert written.exit_code == 0, written.log
    many = write_parquet(orders(range(1_000_000), regions=100), tmp_path / "landing" / "many.parquet")
    exit_code, received = run_on_a_terminal(
        [PROGRAM, "upsert", *table_flags(base_path, source_path=str(many))],
        variables,
        longest_s=150.0,
        interrupt_at="file groups of orders at",
    )
    lines = without_control(received).splitlines()
    text = " ".join(" ".join(lines).split())
    assert exit_code == 130, text
    state = "the table has no rows" if is_first else "the table is unchanged"
    assert f"The job was interrupted. Its write is rolled back: {state}." in text
    assert text.endswith("hudi-services was interrupted.")
    assert [line for line in lines if " ERROR " in line or "Traceback" in line] == []
    assert stored(base_path) == ([] if is_first else FIRST)
    shown = run([PROGRAM, "show", "timeline", base_path], variables, tmp_path / "run")
    newest = json.loads(shown.output)["instants"][0]
    assert (newest["action"], newest["undo_reason"]) == ("rollback", "the job was interrupted")
