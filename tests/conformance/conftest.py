"""Fixtures of the conformance tests: the engine under test in this process, and real Hudi in other processes."""

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judges.hudi_judge import JudgeUnavailableError
from judges.oracle import RELEASES, judges_are_missing, pytest_collection_modifyitems  # noqa: F401 - a hook
from judges.reading.reads_compared import ComparingJudge, compares_reads
from judges.rows import OUR_ROWS, as_table
from judges.table_files import copy_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from judges.engine import Engine

Judges = dict[str, ComparingJudge]
JudgeOf = Callable[[str], ComparingJudge]


@pytest.fixture(scope="session")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judges]:
    """A judge for every release of Hudi; the judges start in parallel while the first tests run."""
    started: Judges = {}
    try:
        for release in RELEASES:
            started[release] = ComparingJudge(release, tmp_path_factory.mktemp(f"hudi-{release}"))
        yield started
    except JudgeUnavailableError as error:
        judges_are_missing(error)
    finally:
        for judge in started.values():
            judge.stop()


@pytest.fixture
def hudi(judges: Judges, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> JudgeOf:
    """``hudi("1.2.0")`` returns the running judge of a release. A new judge replaces one that ended in another test."""

    def running(release: str) -> ComparingJudge:
        if judges[release].has_ended():
            judges[release] = ComparingJudge(release, tmp_path_factory.mktemp(f"hudi-{release}"))
        try:
            judges[release].ping()
        except JudgeUnavailableError as error:
            judges_are_missing(error)
        judges[release].compares_reads = compares_reads(request.node)
        return judges[release]

    return running


@pytest.fixture(scope="session")
def engine(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "Engine":
    """The engine under test, with the shared Spark session."""
    from judges.engine import Engine

    return Engine(spark, tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="session")
def first_commits(engine: "Engine", tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """``first_commits(8)`` is a table of version 8 with one commit of the engine, made once per session; read-only."""
    folder = tmp_path_factory.mktemp("first-commits")

    @functools.cache
    def written(version: int) -> Path:
        base_path = folder / f"v{version}"
        engine.write(base_path, as_table(OUR_ROWS), version=version)
        return base_path

    return written


@pytest.fixture
def ours(first_commits: Callable[[int], Path], tmp_path: Path) -> Callable[..., Path]:
    """``ours(8)`` is a new copy of a table of version 8 that contains :data:`judges.rows.OUR_ROWS`."""
    return lambda version, name="t": copy_table(first_commits(version), tmp_path / name)


@pytest.fixture
def fragmented(
    first_commits: Callable[[int], Path], engine: "Engine", tmp_path: Path
) -> Callable[[int], Path]:
    """``fragmented(8)`` is a table of version 8 with :data:`judges.clusterings.STORED`, two files per partition."""
    from judges.clusterings import fragment

    return lambda version: copy_table(fragment(first_commits(version), engine, version), tmp_path / "t")
