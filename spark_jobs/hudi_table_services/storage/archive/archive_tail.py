"""Read the newest part of an archive, file by file from its end, up to a size limit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from hudi_table_services.model.archival import ArchivedWrite, ArchiveTail
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContent:
    """Decoded content of one archive file.

    Attributes:
        last: largest requested time in the file, of any action; empty if the file contains no instant.
    """

    writes: tuple[ArchivedWrite, ...]
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePart:
    """One archive file, not read yet.

    Attributes:
        last: largest requested time in the file; empty if the time is unknown until the file is read. In that case
            the caller guarantees that no older file contains a later requested time.
        read: reads the file. Raises CorruptTableError, or ObjectNotFoundError if an archival has merged the file into
            another file in the meantime.
    """

    size_bytes: int
    last: str
    read: Callable[[], PartContent]


def read_tail(parts: Sequence[ArchivePart], *, count: int, limit_bytes: int) -> ArchiveTail:
    """Read the newest completed writes.

    Args:
        parts: archive files, newest first.
        count: wanted number of writes. Reading stops after the batch of files that reaches this number.
        limit_bytes: largest total size of the files that are read.
    """
    affordable = sum(total <= limit_bytes for total in accumulate(part.size_bytes for part in parts))
    found: dict[tuple[str, Action], ArchivedWrite] = {}
    tail = ArchiveTail(is_cut=bool(parts))
    for start in range(0, affordable, READ_THREADS):
        batch = parts[start : min(start + READ_THREADS, affordable)]
        contents = map_in_parallel(lambda part: part.read(), batch)
        found |= {write.identity: write for content in contents for write in content.writes}
        tail = _tail(found.values(), parts[start + len(batch) :], contents[-1])
        if len(tail.writes) >= count:
            break
    return tail


def _tail(found: Iterable[ArchivedWrite], unread: Sequence[ArchivePart], oldest: PartContent) -> ArchiveTail:
    since = max((part.last or oldest.last for part in unread), default="")
    writes = [write for write in found if write.instant.requested_time > since]
    return ArchiveTail(
        writes=tuple(sorted(writes, key=lambda write: write.identity)), since=since, is_cut=bool(unread)
    )
