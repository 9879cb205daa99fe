"""Rank many tables by the benefit of a table service, and return arguments for mapped tasks."""

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from airflow_hudi_provider.assets import HUDI_CONN_ID, STORAGE_CONN_ID, base_path_of
from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.registry import configured_tables
from hudi_table_services.contract.health import HealthReport
from hudi_table_services.contract.text import counted
from hudi_table_services.planning.fleet import FleetService, TableNeed, benefit, rank

_LOG = logging.getLogger(__name__)
_PLACES = ("base_path", HUDI_CONN_ID, STORAGE_CONN_ID)
_LEAST = {FleetService.CLUSTERING: 2, FleetService.COMPACTION: 1, FleetService.CLEANING: 1}
_UNITS = {
    FleetService.CLUSTERING: "small file",
    FleetService.COMPACTION: "byte",
    FleetService.CLEANING: "byte",
}
_BY_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"

Arguments = dict[str, Any]


def rank_tables(
    tables: Iterable[Any] | None = None,
    *,
    service: str = "clustering",
    quota: int = 10,
    at_least: int | None = None,
    threads: int = 4,
    hudi_options: Mapping[str, str] | None = None,
) -> list[Arguments]:
    """Read the health of tables. Select the tables that benefit most, and return arguments for ``expand_kwargs``.

    The function logs a warning for each table that cannot be read, has a damaged timeline or lacks files. It ranks the
    remaining tables.

    Args:
        tables: `HudiAsset`s, base paths, or dictionaries with ``base_path``, ``hudi_conn_id`` and
            ``storage_conn_id``. The result also contains the other keys of a dictionary. If None, rank the tables
            of the setting ``[hudi] tables``.
        service: ``clustering`` ranks by the number of small files. ``compaction`` ranks merge-on-read tables by the
            bytes of the log files that no compaction has merged. ``cleaning`` ranks by the bytes of the files that the
            retention policy no longer keeps.
        quota: maximum number of tables to return.
        at_least: minimum number of small files for ``clustering``, or of bytes for ``compaction`` and ``cleaning``.
            The result contains no table below the minimum. With None, the minimum is 2 files or 1 byte.
        threads: number of tables that are read at the same time.
        hudi_options: ``hoodie.clean.*`` keys that define which files cleaning keeps.

    Returns:
        One dictionary for each selected table. Each dictionary has the key ``table_name``. The table with the largest
        benefit is first.

    Raises:
        HudiTaskRefusedError: the service is unknown, or there is no table to rank.
        HudiTaskError: none of the tables could be read.
    """
    wanted = _service(service)
    entries = [_entry(each) for each in (_configured() if tables is None else tables)]
    if not entries:
        raise HudiTaskRefusedError(
            "There are no tables to rank. Give tables, or name tables in the setting [hudi] tables."
        )
    reports = _read_all(entries, max(1, threads), dict(hudi_options or {}))
    for problem in reports.problems:
        _LOG.warning("%s", problem)
    if reports.problems and not reports.needs:
        raise HudiTaskError(f"None of the tables could be read. {reports.problems[0]}")
    least = _LEAST[wanted] if at_least is None else at_least
    ranked = rank(reports.needs, wanted, quota=quota, at_least=least)
    for need in ranked:
        _LOG.info("%s: %s", need.key, counted(benefit(need, wanted), _UNITS[wanted]))
    _LOG.info("Selected %d of %s for %s", len(ranked), counted(len(entries), "table"), wanted.value)
    return [reports.arguments[need.key] for need in ranked]


class _Reports:
    """Stores the measures of the tables that were read, and the errors of the tables that could not be read.

    Each base path is read once, even if several entries name it.
    """

    def __init__(self) -> None:
        self.needs: list[TableNeed] = []
        self.arguments: dict[str, Arguments] = {}
        self.problems: list[str] = []


def _read_all(entries: list[Arguments], threads: int, hudi_options: dict[str, str]) -> _Reports:
    reports = _Reports()
    hooks: dict[str, tuple[HudiHook, Arguments]] = {}
    for entry in entries:
        # Only this thread reads connections: a task has a single channel to Airflow, which threads must not share.
        try:
            hook = HudiHook(**{name: entry.get(name) for name in _PLACES})
            hooks.setdefault(hook.location.base_path.rstrip("/"), (hook, entry))
        except Exception as error:
            reports.problems.append(f"{entry.get('base_path') or entry.get(HUDI_CONN_ID)}: {error}")

    def read(item: tuple[str, tuple[HudiHook, Arguments]]) -> tuple[TableNeed, str] | str:
        path, (hook, _) = item
        try:
            name = hook.table_config().table_name
            return need_of(path, hook.health(hudi_options=hudi_options), hudi_options), name
        except Exception as error:
            return f"{path}: {error}"

    with ThreadPoolExecutor(threads, thread_name_prefix="fleet") as pool:
        for (path, (_, entry)), found in zip(hooks.items(), pool.map(read, hooks.items()), strict=True):
            if isinstance(found, str):
                reports.problems.append(found)
                continue
            need, name = found
            reports.needs.append(need)
            reports.arguments[path] = {"table_name": name, **entry}
    return reports


def need_of(key: str, report: HealthReport, hudi_options: Mapping[str, str]) -> TableNeed:
    """Extract from a health report the measures by which tables are ranked."""
    measures = report.measures
    return TableNeed(
        key=key,
        small_files=int(measures.get("small_files", 0)),
        small_file_ratio=measures.get("small_file_ratio", 0.0),
        log_files=int(measures.get("log_files", 0)),
        log_bytes=int(measures.get("log_bytes", 0)),
        outdated_files=int(measures.get("outdated_files", 0)),
        outdated_bytes=int(measures.get("outdated_bytes", 0)),
        # The policy by file versions retains no commits. With this policy, the report never counts commits to clean.
        is_cleanable=bool(measures.get("commits_to_clean")) or _BY_VERSIONS in hudi_options.values(),
        is_trusted=not report.damage,
    )


def _service(name: str) -> FleetService:
    try:
        return FleetService(name)
    except ValueError:
        known = ", ".join(repr(each.value) for each in FleetService)
        raise HudiTaskRefusedError(f"service={name!r} must be one of {known}.") from None


def _configured() -> list[Arguments]:
    return [{name: getattr(table, name) for name in _PLACES} for table in configured_tables()]


def _entry(table: Any) -> Arguments:
    """Return the arguments of an operator for this table, without empty values."""
    if isinstance(table, str):
        given: Arguments = {"base_path": table}
    elif isinstance(table, Mapping):
        given = dict(table)
    else:
        extra = table.extra or {}
        given = {
            "base_path": base_path_of(table.uri),
            **{name: extra.get(name) for name in (HUDI_CONN_ID, STORAGE_CONN_ID)},
        }
    return {name: value for name, value in given.items() if value is not None and value != ""}
