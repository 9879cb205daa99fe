"""Fixtures with the table that the tests of the rules change."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import Oracle
from judges.rule_tables import RuleTable, make_rule_table

TableOf = Callable[[Oracle], RuleTable]


@pytest.fixture(scope="session")
def rule_tables(
    judges: dict[str, HudiJudge], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> TableOf:
    """``rule_tables(V9)`` is the table of one release and table version, made once per session; read-only."""

    @cache
    def made(oracle: Oracle) -> RuleTable:
        folder = tmp_path_factory.mktemp(f"rules-{oracle}")
        return make_rule_table(judges[oracle.release], engine, folder / "t", oracle)

    return made


@pytest.fixture
def ruled(hudi: Callable[[str], HudiJudge], rule_tables: TableOf, tmp_path: Path) -> TableOf:
    """``ruled(V9)`` is a new copy of that table."""

    def copied(oracle: Oracle) -> RuleTable:
        hudi(oracle.release)
        return rule_tables(oracle).copied_to(tmp_path / "t")

    return copied
