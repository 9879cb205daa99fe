"""Undo blocks in log files of table version 6, whose names do not contain the instant that wrote them.

A log file that contains only blocks of the undone instant is deleted. Otherwise a new log file of the slice gets a
rollback block, as Hudi 0.15 writes it (RollbackHelperV1, HoodieCommandBlock). Every step can be repeated.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from hudi_table_services.commits.undo_plan import appends_to_slices, kept_paths, plan_of
from hudi_table_services.errors import (
    CommitConflictError,
    CorruptTableError,
    ObjectExistsError,
    ObjectNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock, encode_block
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_service_plans import RollbackPlan
from hudi_table_services.planning.recovery.rollback_plan import (
    NO_BLOCKS,
    LogBlocks,
    UndoneBlocks,
    appended_logs_to_delete,
    log_blocks_to_undo,
)
from hudi_table_services.storage.log_files.block_instants import BlockInstants, block_instants
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_ATTEMPT = "1-0-1"
"""Write token of log files with rollback blocks, as in Hudi."""
_ROLLBACK = "0"
_MOST_ATTEMPTS = 5


def check_logs(table: TableAccess, plan: RollbackPlan, *, undone: Collection[str] = ()) -> None:
    """Check the part of a plan that concerns log files of older slices, before anything is changed.

    Args:
        undone: see `kept_paths`.

    Raises:
        CorruptTableError: the plan deletes a log file that contains blocks of another instant, or the table is not a
            merge-on-read table of version 6.
        UnsupportedTableError: rollback blocks are needed, and the table has a metadata table.
    """
    deleted, blocks = appended_logs_to_delete(plan), log_blocks_to_undo(plan)
    if not (deleted or blocks):
        return
    if not appends_to_slices(table):
        named = deleted[0] if deleted else join_path(blocks[0].partition_path, blocks[0].names[0])
        raise CorruptTableError(
            f"The rollback plan of {plan.undone_time} names {named!r}, which is not a file of that instant; nothing "
            "was deleted.",
            hint="Undo the instant with Hudi's command line.",
        )
    for path in deleted:
        _require_only_undone(table, plan, path)
    if adds_rollback_blocks(table, plan, undone=undone):
        _require_no_metadata_table(table, plan)


def adds_rollback_blocks(table: TableAccess, plan: RollbackPlan, *, undone: Collection[str] = ()) -> bool:
    """Whether `undo_log_blocks` is going to create log files.

    Args:
        undone: see `kept_paths`.
    """
    blocks = log_blocks_to_undo(plan)
    return any(logs.need_rollback_block for logs in _slice_logs(table, plan, blocks, undone))


def require_undoable_logs(table: TableAccess, chosen: Collection[Instant]) -> None:
    """Raise the errors of `check_logs` for instants that are going to be undone. Nothing is changed."""
    if appends_to_slices(table):
        undone = {instant.requested_time for instant in chosen}
        for instant in chosen:
            plan = plan_of(table, instant, whole_slice=True, undone=undone)
            check_logs(table, plan, undone=undone)


def undo_log_blocks(table: TableAccess, plan: RollbackPlan, rollback_time: str) -> UndoneBlocks:
    """Delete log files, or add rollback blocks, as the plan requires. Call `check_logs` first.

    Args:
        rollback_time: instant in the rollback blocks.

    Raises:
        StorageError: a file could not be deleted or created.
        CommitConflictError: in each of several attempts, another writer added a log file to the same slice first.
    """
    blocks = log_blocks_to_undo(plan)
    if not blocks:
        return NO_BLOCKS
    deleted: dict[str, tuple[str, ...]] = {}
    written: dict[str, dict[str, int]] = defaultdict(dict)
    for logs in _slice_logs(table, plan, blocks):
        folder = logs.blocks.partition_path
        for log in logs.own:
            table.storage.delete(join_path(folder, log.file_name))
            _LOG.info("Deleted %s", join_path(folder, log.file_name))
        paths = tuple(_absolute(table, folder, log.file_name) for log in logs.own)
        deleted[folder] = deleted.get(folder, ()) + paths
        found = {log.file_name: log.size_bytes for log in logs.with_rollback_block}
        if logs.need_rollback_block:
            found |= _write_rollback_block(table, logs, rollback_time)
        written[folder] |= {_absolute(table, folder, name): size for name, size in found.items()}
    return UndoneBlocks(deleted, written)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SliceLogs:
    """The log files of one slice with blocks of the undone instant.

    Attributes:
        own: log files that contain only blocks of the undone instant, and that are not in `kept_paths`.
        others: all other log files in merge order, each with its instants.
    """

    blocks: LogBlocks
    undone_time: str
    own: tuple[LogFile, ...]
    others: Mapping[LogFile, BlockInstants]

    @property
    def with_rollback_block(self) -> tuple[LogFile, ...]:
        """Log files that an earlier attempt of the rollback wrote."""
        return tuple(
            log
            for log, instants in self.others.items()
            if not instants.writers and self.undone_time in instants.undone_after
        )

    @property
    def need_rollback_block(self) -> bool:
        """Whether there are blocks of the instant that no later rollback block undoes."""
        is_open = False
        for instants in self.others.values():
            if self.undone_time in instants.writers:
                is_open = self.undone_time not in instants.undone_after
            elif self.undone_time in instants.undone_after:
                is_open = False
        return is_open


def _slice_logs(
    table: TableAccess, plan: RollbackPlan, blocks: Collection[LogBlocks], undone: Collection[str] = ()
) -> Iterator[_SliceLogs]:
    kept = kept_paths(table, undone) if blocks else frozenset()
    time = plan.undone_time
    for each in blocks:
        found = _logs_of(table, each)
        own = tuple(
            log
            for log, instants in found.items()
            if instants.writers
            and instants.belongs_to(time)
            and join_path(each.partition_path, log.file_name) not in kept
        )
        others = {log: instants for log, instants in found.items() if log not in own}
        yield _SliceLogs(blocks=each, undone_time=time, own=own, others=others)


def rollback_block(rollback_time: str, undone_time: str) -> bytes:
    """Encode the block that undoes all earlier blocks of an instant in the log files of a slice."""
    headers: dict[int, str] = {
        HeaderKey.INSTANT_TIME: rollback_time,
        HeaderKey.TARGET_INSTANT_TIME: undone_time,
        HeaderKey.COMMAND_BLOCK_TYPE: _ROLLBACK,
    }
    return encode_block(LogBlock(block_type=BlockType.COMMAND, headers=headers))


def _require_only_undone(table: TableAccess, plan: RollbackPlan, path: str) -> None:
    try:
        found = block_instants(table.storage, path)
    except ObjectNotFoundError:
        return  # an earlier attempt has deleted the file
    if not found.belongs_to(plan.undone_time):
        raise CorruptTableError(
            f"The rollback plan of {plan.undone_time} deletes {path}, but other instants wrote blocks of this file; "
            "nothing was deleted.",
            path=path,
            hint="Undo the instant with Hudi's command line.",
        )


def _require_no_metadata_table(table: TableAccess, plan: RollbackPlan) -> None:
    """Refuse rollback blocks in a table with a metadata table: this release cannot add the new log files to it."""
    partitions = read_table_config(table.storage).metadata_partitions
    if partitions and table.metadata.enable is not False:
        raise UnsupportedTableError(
            f"To undo {plan.undone_time}, the job must write rollback blocks into new log files, and this release "
            "cannot list these files in the metadata table.",
            hint="Nothing was undone. Drop the metadata table with rebuild_metadata_table.py --drop all, undo the "
            "write, then build the metadata table again.",
        )


def _logs_of(table: TableAccess, blocks: LogBlocks) -> dict[LogFile, BlockInstants]:
    """All log files of a slice in merge order, each with its instants."""
    found = {}
    for stored in table.storage.list_folder(blocks.partition_path).files:
        if stored.name.startswith(f".{blocks.file_id}_{blocks.base_instant_time}.log."):
            log = LogFile.from_file_name(stored.name, stored.size_bytes)
            found[log] = block_instants(table.storage, stored.path, stored.size_bytes)
    return {log: found[log] for log in sorted(found, key=lambda log: log.merge_order)}


def _write_rollback_block(table: TableAccess, logs: _SliceLogs, rollback_time: str) -> dict[str, int]:
    """Create the next log file of the slice with a rollback block. Returns its name and its size in bytes."""
    data = rollback_block(rollback_time, logs.undone_time)
    version = max(log.version for log in (*logs.own, *logs.others))
    for _ in range(_MOST_ATTEMPTS):
        version += 1
        log = LogFile(
            file_id=logs.blocks.file_id,
            instant_time=logs.blocks.base_instant_time,
            version=version,
            write_token=_ATTEMPT,
        )
        path = join_path(logs.blocks.partition_path, log.file_name)
        try:
            table.storage.create(path, data)
        except ObjectExistsError:
            continue  # another writer has just created a log file of this version
        _LOG.info("Undid the blocks of %s with %s", logs.undone_time, path)
        return {log.file_name: len(data)}
    raise CommitConflictError(
        f"Other writers add log files to file group {logs.blocks.file_id} while {logs.undone_time} is undone.",
        hint="Stop the other writers, then run the request again.",
    )


def _absolute(table: TableAccess, partition_path: str, name: str) -> str:
    return f"{table.storage.base_path.rstrip('/')}/{join_path(partition_path, name)}"
