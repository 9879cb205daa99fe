"""Python blocks of the pages compile and use existing names; shell blocks use existing scripts and flags."""

import ast
import importlib
import json
import re
import shlex
from collections.abc import Iterator
from itertools import groupby, takewhile
from pathlib import Path

import pytest
from doc_sources import PROVIDER, REPOSITORY, blocks_in

from hudi_table_services.command.parsers import (
    JOBS,
    job_parser,
    output_flags,
    view_parser,
    whole_parser,
    with_table,
)
from hudi_table_services.command.view_commands import VIEWS
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.service import Script

OURS = ("airflow_hudi_provider", "hudi_table_services")
SCRIPTS = REPOSITORY / "spark_jobs"
PYTHON = blocks_in("python")
SHELL = blocks_in("sh", "bash", "shell")
JSON = blocks_in("json")
MAKE_TARGETS = re.findall(
    r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
)

# Parameters that the pages pass to classes of Airflow and of its Spark provider.
AIRFLOWS_ARGUMENTS = {
    "conf",
    "inlets",
    "max_active_tis_per_dag",
    "mode",
    "name",
    "outlets",
    "poke_interval",
    "on_failure_callback",
    "on_success_callback",
    "retries",
    "task_id",
    "timeout",
    "trigger_rule",
    "watchers",
}


def parsed(text: str) -> ast.Module:
    """Parse a block, which may continue the ``with`` of the previous block."""
    try:
        return ast.parse(text)
    except IndentationError:
        first = re.search(r"^ +\S", text, re.MULTILINE)
        assert first
        return ast.parse(f"{text[: first.start()]}if True:\n{text[first.start() :]}")


def top_names(module: str) -> set[str]:
    path = REPOSITORY / f"{module.replace('.', '/')}.py"
    path = path if path.exists() else SCRIPTS / f"{module.replace('.', '/')}.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    targets = (target for node in body if isinstance(node, ast.Assign) for target in node.targets)
    return named | {target.id for target in targets if isinstance(target, ast.Name)}


def wrong_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            missing = {alias.name for alias in node.names} - top_names(str(node.module))
            yield from (f"{node.module} has no {name}" for name in sorted(missing))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PROVIDER.nodes:
            yield from wrong_arguments(node.func.id, node)


def wrong_arguments(name: str, call: ast.Call) -> Iterator[str]:
    described = PROVIDER.describe(name)
    known = {parameter.name for parameter in described.parameters} | AIRFLOWS_ARGUMENTS
    given = {keyword.arg for keyword in call.keywords if keyword.arg}
    yield from (f"{name} has no parameter {each}" for each in sorted(given - known))
    required = [
        p.name for p in described.parameters if not p.default and p.name not in ("kwargs", "arguments")
    ]
    missing = set(required[len(call.args) :]) - given
    yield from (f"{name} needs {each}" for each in sorted(missing))


@pytest.mark.parametrize("place", PYTHON)
def test_python_blocks_compile_and_use_existing_names(place: str) -> None:
    assert list(wrong_names(parsed(PYTHON[place].text))) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from airflow_hudi_provider.assets import HudiAsset\nHudiAsset('/t')", []),
        ("from airflow_hudi_provider.assets import Nothing", ["airflow_hudi_provider.assets has no Nothing"]),
        ("CleanOperator(task_id='c', hours=1)", ["CleanOperator has no parameter hours"]),
        ("RestoreOperator(task_id='r')", ["RestoreOperator needs savepoint"]),
        ("HudiAsset()", ["HudiAsset needs base_path"]),
    ],
)
def test_python_check_finds_unknown_names_and_parameters(text: str, says: list[str]) -> None:
    assert list(wrong_names(parsed(text))) == says


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command without its comment; a backslash at the end continues a line."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&;|")
        lexer.whitespace_split = True
        for is_end, words in groupby(lexer, key=lambda word: word in ("&&", ";")):
            if not is_end:
                yield list(takewhile(lambda word: word != "|", words))


def job_script(path: Path) -> Script:
    """Return the `Script` that a job script passes to ``main``, such as ``CLEAN`` in ``main(CLEAN)``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "main"]
    name = ast.unparse(calls[0].args[0])
    modules = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and name in ast.unparse(n)]
    found = getattr(importlib.import_module(str(modules[0])), name)
    assert isinstance(found, Script)
    return found


def wrong_words(words: list[str]) -> str:
    """Return the error in the words after ``hudi-services``; empty if they are correct."""
    try:
        match words:
            case ["show", name, *rest]:
                view_parser({view.name: view for view in VIEWS}[name]).parse_intermixed_args(rest)
            case [name, *rest] if name in JOBS:
                parser = job_parser(JOBS[name])
                flags = with_table(parser.parse_intermixed_args(rest))
                output_flags(flags)
                JOBS[name].command_line(parser, flags)
            case _:
                whole_parser().parse_args(words)
    except (InvalidRequestError, KeyError) as error:
        return str(error)
    return ""


def wrong_command(words: list[str]) -> str:
    """Return the error in a call of a script, of hudi-services or of make; empty if the call is correct."""
    if Path(words[0]).name == "hudi-services":
        return wrong_words(words[1:])
    if words[0] == "make":
        unknown = [word for word in words[1:] if "=" not in word and word not in MAKE_TARGETS]
        return f"no target {unknown[0]}" if unknown else ""
    scripts = [index for index, word in enumerate(words) if re.search(r"(^|/)spark_jobs/\w+\.py$", word)]
    if not scripts:
        return ""
    path = REPOSITORY / words[scripts[0]]
    if not path.exists():
        return f"no script {path.name}"
    try:
        job_script(path).parse(words[scripts[0] + 1 :])
    except InvalidRequestError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("place", SHELL)
def test_shell_blocks_use_existing_scripts_flags_and_targets(place: str) -> None:
    assert [wrong for words in commands(SHELL[place].text) if (wrong := wrong_command(words))] == []


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("spark_jobs/clean.py --base-path s3://lake/t --preview   # deletes nothing", True),
        ("make demo && make test", True),
        ("spark-submit --py-files a.zip spark_jobs/clean.py \\\n  --base-path /t --hours-retained 2", True),
        ("spark_jobs/clean.py --base-path /t --hours 2", False),
        ("spark_jobs/clean.py --base-path /t --hours-retained two", False),
        ("spark_jobs/sweep.py --base-path /t", False),
        ("make nothing", False),
        ("hudi-services clean s3://lake/t --preview   # deletes nothing", True),
        ("hudi-services show files /t --partition a | head", True),
        (".venv/bin/hudi-services show commit /t 20260102030405006", True),
        ("hudi-services show folders /t", False),
        ("hudi-services clean /t --hours 2", False),
        ("hudi-services sweep /t", False),
        ("python -c 'import a; make' && hudi-services show table /t", True),
        ("python -c 'import a; a' && hudi-services sweep /t", False),
    ],
)
def test_shell_check_finds_unknown_scripts_flags_and_targets(text: str, is_right: bool) -> None:
    assert [wrong for words in commands(text) if (wrong := wrong_command(words))] == [] or not is_right
    assert any(wrong_command(words) for words in commands(text)) is not is_right


@pytest.mark.parametrize("place", JSON)
def test_json_blocks_are_valid(place: str) -> None:
    json.loads(JSON[place].text)


def test_the_pages_contain_code_blocks() -> None:
    assert len(PYTHON) > 20
    assert len(SHELL) > 10
    assert JSON
