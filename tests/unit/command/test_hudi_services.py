"""Sub-commands, flags, output in a pipe and exit codes of `hudi-services`."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_table_services.command.main import main
from hudi_table_services.command.parsers import JOBS, job_parser, view_parser, whole_parser
from hudi_table_services.command.view_commands import VIEWS
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.services.registry import SERVICES, read_result
from hudi_table_services.services.service import OptionalSparkScript, Script
from hudi_table_services.storage.stores.local import LocalStorage
from support import depth
from support.small_tables import SmallTable

REPOSITORY = Path(__file__).parents[3]
NAMED = {
    "upsert",
    "cluster",
    "clean",
    "archive",
    "health",
    "check-config",
    "savepoint",
    "rollback",
    "restore",
    "repair",
}
A = FileGroupId("city=a", "fa")


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "trips")))
    made.commit(A)
    return made


def path_of(table: SmallTable) -> str:
    return table.storage.uri.removeprefix("file://")


def test_every_script_has_its_own_sub_command() -> None:
    scripts = [script for service in SERVICES for script in service.scripts]
    assert len(JOBS) == len(scripts)
    assert JOBS.keys() >= NAMED
    assert not JOBS.keys() & {"show", "completion"}


def test_the_page_lists_every_command_with_its_script() -> None:
    text = (Path(__file__).parents[3] / "docs" / "command.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.partition("## Views")[0].splitlines() if line.startswith("| `")]
    names = re.compile(r"`([^`]+)`")
    listed = [
        (command, file, row[3].strip())
        for row in rows
        for command, file in zip(names.findall(row[1]), names.findall(row[4]), strict=True)
    ]
    assert sorted((command, file) for command, file, _ in listed) == sorted(
        (command, script.file_name) for command, script in JOBS.items()
    )
    for command, _, needs_spark in listed:
        script = JOBS[command]
        first_word = (
            "only" if isinstance(script, OptionalSparkScript) else "yes" if script.needs_spark else "no"
        )
        assert needs_spark.split()[0] == first_word, command


@pytest.mark.parametrize("script", JOBS.values(), ids=JOBS)
def test_the_help_names_the_command_and_every_flag_of_the_script(script: Script[JobRequest]) -> None:
    text = job_parser(script).format_help()
    assert text.startswith(f"usage: hudi-services {script.command_name} ")
    for action in script.parser()._actions:
        assert action.option_strings[-1] in text
    assert "{program}" not in text + script.parser().format_help()
    calls = [line.split() for line in text.splitlines() if f"hudi-services {script.command_name} " in line][
        1:
    ]
    assert calls, "the help has no example"
    outside_spark = [line for line in text.splitlines() if "spark-submit" not in line]
    assert script.file_name not in "\n".join(outside_spark)


@pytest.mark.parametrize("script", JOBS.values(), ids=JOBS)
def test_the_help_of_the_script_still_names_the_script(script: Script[JobRequest]) -> None:
    text = script.parser().format_help()
    assert text.startswith(f"usage: {script.file_name} ")
    assert f"    {script.file_name} " in text.partition("examples:")[2]


def test_the_help_lists_every_command_and_view(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert [name for name in (*JOBS, "show", "completion") if f"    {name}" not in text] == []
    with pytest.raises(SystemExit):
        main(["show"])
    text = capsys.readouterr().out
    assert [view.name for view in VIEWS if f"    {view.name}" not in text] == []
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("hudi-services ")


@pytest.mark.parametrize(
    "words",
    [
        ["clean", "{table}", "--commits-retained", "3", "--preview"],
        ["clean", "--commits-retained", "3", "{table}", "--preview"],
        ["clean", "--commits-retained", "3", "--preview", "{table}"],
        ["clean", "--base-path", "{table}", "--commits-retained=3", "--preview"],
    ],
    ids=["first", "between", "last", "flag"],
)
def test_the_table_may_be_at_any_place_among_the_arguments(
    words: list[str], table: SmallTable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(table=path_of(table)) for word in words]) == 0
    result = read_result(capsys.readouterr().out)
    assert (result.operation, result.base_path) == ("clean", path_of(table))
    assert result.is_preview or result.is_nothing_to_do


def test_print_request_contains_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upsert", "/t", "--request-id=r", "--dry-run", "--print-request"]) == 0
    assert json.loads(capsys.readouterr().out)["base_path"] == "/t"


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [
        (["clustr"], 64, "There is no command 'clustr'. Did you mean cluster?"),
        (["sho"], 64, "Did you mean show?"),
        (["show", "tables", "/t"], 64, "There is no view 'tables'. Did you mean table?"),
        (["clean", "/t", "--base-path=/t"], 64, "The table is given twice"),
        (
            ["rollback", "/t", "20260102030405006"],
            64,
            "Name an instant with the flag: --instant 20260102030405006.",
        ),
        (
            ["restore", "/t", "20260102030405006"],
            64,
            "Name an instant with the flag: --savepoint 20260102030405006.",
        ),
        (["show", "/t"], 64, "There is no view '/t'. Did you mean: hudi-services show table /t?"),
        (
            ["clean", "/t", "/u"],
            64,
            "Unrecognized arguments: /u. Only the table is given without a flag.",
        ),
        (
            ["upsert", "people.parquet", "/t"],
            64,
            "Only the table is given without a flag. Give the source with --source-path.",
        ),
        (["clean", "/t", "--previw"], 64, "Unrecognized arguments: --previw. Did you mean --preview?"),
        (["upsert", "/t", "--record_key=day"], 64, "--record_key=day. Did you mean --record-key?"),
        (
            ["upsert", "/t", "--table-version=9"],
            64,
            "Did you mean --option hoodie.write.table.version=VALUE?",
        ),
        (["upsert", "/t", "--ordering-fields=ts"], 64, "Did you mean --ordering-field?"),
        (["upsert", "/t", "--operation=upsrt"], 64, "invalid choice: 'upsrt'. Did you mean upsert?"),
        (["upsert", "/t", "--operation=merge"], 64, "invalid choice: 'merge'. Use one of "),
        (["rollback", "/t", "--instant", "1", "2"], 64, "Repeat the flag for each value: --instant 2."),
        (
            ["rollback", "--instant=20260102030405006", "20260102030405007"],
            64,
            "20260102030405007 is an instant time, not a table. Repeat the flag",
        ),
        (["clean"], 64, "The request has no base path."),
        (["restore"], 64, "These flags are missing: --base-path (or TABLE), --savepoint."),
        (["clean", "/t", "--policy=keep_latest_commits"], 64, "Only upper and lower case differ."),
        (["clean", "/t", "--retain=3"], 64, "Did you mean one of --commits-retained, --hours-retained, "),
        (["clean", "/t", "--Preview"], 64, "Did you mean --preview? Only upper and lower case differ."),
        (
            ["show", "partitions", "/t", "--partition", "city=a"],
            64,
            "`hudi-services show files` has the flag --partition: only the files of this partition path",
        ),
        (["show", "files", "/t", "--limit=3"], 64, "`hudi-services show timeline` has the flag --limit"),
        (["clean", "/t", "--request=r.json"], 64, "--request and TABLE (--base-path) cannot be combined"),
        (["clean", "{none}"], 66, "There is no Hudi table"),
        (["show", "table", "{none}"], 66, "There is no Hudi table"),
        (["show", "table"], 64, "The base path is empty."),
        (["show", "table", "ftp://host/t"], 64, "ftp"),
        (["show", "timeline", "{none}", "--limit=0"], 64, "--limit is '0', not a whole number above 0"),
        (["show", "commit", "{none}"], 64, "No instant is given."),
        (["show", "commit", "{none}", "yesterday"], 64, "'yesterday' is not an instant time"),
        (["completion", "dash"], 64, "invalid choice: 'dash'"),
        (["--verzion"], 64, "--verzion"),
    ],
)
def test_the_error_names_the_cause_and_sets_the_exit_code(
    words: list[str], exit_code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(none=tmp_path / "none") for word in words]) == exit_code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_in_a_pipe_is_json(
    view: object, table: SmallTable, capsys: pytest.CaptureFixture[str]
) -> None:
    name = getattr(view, "name")  # noqa: B009
    instant = [table.timeline_store.load().instants[0].requested_time] if name == "commit" else []
    assert main(["show", name, path_of(table), *instant]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["view"], document["table_name"]) == (name, "trips")
    assert captured.err == ""


@pytest.mark.parametrize(
    "words", [["{table}", "{instant}"], ["{instant}", "{table}"], ["--base-path", "{table}", "{instant}"]]
)
def test_the_instant_and_the_table_may_be_in_either_order(
    words: list[str], table: SmallTable, capsys: pytest.CaptureFixture[str]
) -> None:
    instant = table.timeline_store.load().instants[0].requested_time
    assert (
        main(["show", "commit", *(each.format(table=path_of(table), instant=instant) for each in words)]) == 0
    )
    assert json.loads(capsys.readouterr().out)["instant"]["instant_time"] == instant


def test_a_failed_job_prints_its_whole_result_as_json(
    table: SmallTable, capsys: pytest.CaptureFixture[str]
) -> None:
    table.begin()
    assert main(["health", path_of(table), "--fail-above", "dead_instants=0", "--json"]) == 76
    captured = capsys.readouterr()
    result = read_result(captured.out)
    assert result.error is not None
    assert result.error.kind == "UnhealthyTableError"
    assert result.report is not None
    assert "UnhealthyTableError: " in captured.err


def test_an_unexpected_error_of_a_view_has_a_traceback_and_exit_code_70(
    table: SmallTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hudi_table_services.command.program.open_storage", lambda *_: None)
    assert main(["show", "table", path_of(table)]) == 70
    assert "Please send this log to the maintainers" in caplog.text
    assert "Traceback" in caplog.text


def test_every_view_has_a_description_and_flags_with_help() -> None:
    for view in VIEWS:
        assert view.description.endswith(".")
        assert all(action.help for action in view_parser(view)._actions)


def program(*words: str) -> list[str]:
    code = "import sys; from hudi_table_services.command.main import main; sys.exit(main())"
    return [sys.executable, "-c", code, *words]


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY / "spark_jobs"), **variables}


def test_a_reader_that_ends_early_causes_no_message(tmp_path: Path) -> None:
    made = SmallTable(LocalStorage(str(tmp_path / "many")))
    made.commit(*(FileGroupId("p", f"f{number}") for number in range(400)))
    running = subprocess.Popen(
        program("show", "files", path_of(made)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert running.stdout is not None
    assert running.stdout.read(1) == b"{"
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(30) == 0


COMPLETED = {
    "hudi-services cl": {"clean", "cluster"},
    "hudi-services show ta": {"table"},
    "hudi-services clean --commits": {"--commits-retained"},
    "hudi-services cluster /t --layout ": {"linear", "zorder", "hilbert"},
}


@pytest.mark.parametrize("line", depth.cases(list(COMPLETED), list(COMPLETED)[-1:]))
def test_the_shell_completes_commands_flags_and_values(line: str, tmp_path: Path) -> None:
    found = tmp_path / "completions"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(found),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(program(), env=environment(**variables), check=True, timeout=60)
    assert {word.strip() for word in found.read_text(encoding="utf-8").split("\n")} == COMPLETED[line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_code_for_a_shell_names_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "hudi-services" in capsys.readouterr().out


def test_a_missing_package_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['rich'] = None\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY / "spark_jobs")])
    ended = subprocess.run(
        program("show", "table", "/t"),
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 70
    assert ended.stderr == (
        "hudi-services needs the package 'rich': run pip install 'airflow-provider-hudi[engine]'.\n"
    )


def test_the_parser_of_all_commands_accepts_the_arguments_of_a_single_command() -> None:
    given = whole_parser().parse_args(["clean", "/t", "--preview"])
    assert (given.table, given.preview) == ("/t", True)


def test_the_page_lists_every_command_and_view() -> None:
    page = (REPOSITORY / "docs" / "command.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (`[^|]*)\|", page, re.MULTILINE))))
    assert JOBS.keys() - listed == set()
    shown = set(re.findall(r"^\| `show (\w+)", page, re.MULTILINE))
    assert shown == {view.name for view in VIEWS}
