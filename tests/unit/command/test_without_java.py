"""Commands that end before Spark starts, as processes on a machine without Java."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

COMMAND = str(Path(sys.executable).with_name("hudi-services"))
LIMIT_S = 20


def run(folder: Path, *arguments: str, java_home: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command with a wrong JAVA_HOME or without JAVA_HOME. A start of Spark would fail with exit code 70."""
    without_java = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    if java_home:
        without_java["JAVA_HOME"] = str(folder / "no java")
    began = time.monotonic()
    ended = subprocess.run(
        [COMMAND, *arguments], check=False, env=without_java, capture_output=True, text=True
    )
    assert time.monotonic() - began < LIMIT_S
    return ended


@pytest.mark.parametrize(
    ("path", "key", "header", "message"),
    [
        ("rows", "id", "true", "does not exist"),
        ("rows.csv", "key", "true", "rows.csv' has no column 'key'"),
        ("rows.csv", "id", "false", "header=true"),
    ],
    ids=["wrong path", "wrong key", "no header"],
)
def test_a_mistake_in_a_write_is_reported(
    tmp_path: Path, path: str, key: str, header: str, message: str
) -> None:
    (tmp_path / "rows.csv").write_text("id,city\n1,a\n")
    table = ["--base-path", str(tmp_path / "t"), "--table-name", "t", "--record-key", key]
    source = ["--source-path", str(tmp_path / path), "--source-format", "csv"]
    ended = run(tmp_path, "upsert", *table, *source, "--source-option", f"header={header}")
    assert ended.returncode == 64, ended.stderr
    assert message in " ".join(ended.stderr.split())
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("is_set", [True, False], ids=["wrong JAVA_HOME", "no JAVA_HOME"])
def test_a_write_says_that_java_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_set: bool
) -> None:
    (tmp_path / "rows.csv").write_text("id,city\n1,a\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    table = ["--base-path", str(tmp_path / "t"), "--table-name", "t", "--record-key", "id"]
    source = ["--source-path", str(tmp_path / "rows.csv"), "--source-format", "csv"]
    ended = run(tmp_path, "upsert", *table, *source, "--source-option=header=true", java_home=is_set)
    text = " ".join(ended.stderr.split())
    expected = "bin/java in the folder" if is_set else "the variable JAVA_HOME is not set"
    assert ended.returncode != 0
    assert "Spark needs Java, but" in text
    assert expected in text
    assert "spark-class" not in text
    assert "may succeed" not in text
    assert not (tmp_path / "t").exists()


def test_a_clustering_with_nothing_to_do_succeeds(tmp_path: Path) -> None:
    SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    ended = run(tmp_path, "cluster", "--base-path", str(tmp_path / "t"))
    assert ended.returncode == 0, ended.stderr
