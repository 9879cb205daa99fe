"""Wait in the triggerer until enough commits have completed."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.commit_payload import commit_payload, describe_count
from airflow_hudi_provider.triggers.table import NO_TABLE, HudiTableTrigger
from hudi_table_services.errors import TableNotFoundError
from hudi_table_services.model.clustering import CommitCount
from hudi_table_services.model.write_stat import WriteOperation


class HudiCommitCountTrigger(HudiTableTrigger):
    """Fires once when enough completed commits were requested after the newest clustering; see `HudiTableTrigger`.

    The answer is a `commit_payload`.

    :param every_n_commits: number of commits that must have completed.
    :param operations: write operations that count. If empty, all operations that change rows count.
    """

    def __init__(self, *, every_n_commits: int, operations: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.every_n_commits = every_n_commits
        self.operations = list(operations)
        self._remembered: dict[str, WriteOperation] = {}

    def condition(self) -> dict[str, Any]:
        return {"every_n_commits": self.every_n_commits, "operations": self.operations}

    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        count = count_once(
            hook,
            self.operations,
            enough=self.every_n_commits,
            remembered=self._remembered,
            fails_if_missing=self.fails_if_missing,
        )
        if count is None:
            self.state = NO_TABLE
            return None
        payload = commit_payload(count, self.every_n_commits)
        self.state = describe_count(payload)
        return payload if count.count >= self.every_n_commits else None


def count_once(
    hook: HudiHook,
    operations: Sequence[str],
    *,
    enough: int,
    remembered: MutableMapping[str, WriteOperation],
    fails_if_missing: bool,
) -> CommitCount | None:
    """Count the commits. If the table is missing, raise an error if `fails_if_missing` is true, else return None.

    If the base path contains other files, raise TableNotFoundError in both cases. See `HudiHook.commit_count` for the
    other arguments.
    """
    try:
        return hook.commit_count(operations, enough=enough, remembered=remembered)
    except TableNotFoundError:
        if fails_if_missing:
            raise
        hook.find_table_config()  # raises the error about other files
        return None
