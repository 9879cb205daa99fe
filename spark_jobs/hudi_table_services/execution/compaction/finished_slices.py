"""Write and find records of finished slices, so that the next attempt of a compaction can use their base files.

A task writes the record of its base file after its last check that its attempt still owns the plan. So a file that has
a record is complete, and the task that wrote the file never deletes it. Tasks of other attempts do not delete or
overwrite the file either, because each try of each task has its own file name. A file without a record can disappear at
any time: its task deletes it if another attempt has taken the plan over.
"""

import hashlib
import json
from collections.abc import Iterable

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.json_text import decode_json_object
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.hudi_format.write_stat_codec import json_record, write_stat
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.stores.storage import Storage

_FINGERPRINT = "fingerprint"
_STAT = "stat"
_WHAT = "record of a compacted file slice"


def fingerprint_of(parts: Iterable[object]) -> str:
    """Return a digest of `parts`: all facts that determine the rows of a new base file, and the instant of the file."""
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def write_record(storage: Storage, folder: str, stat: WriteStat, fingerprint: str) -> None:
    """Record that the file of this write stat is complete. Replace the record of an earlier file of the file group."""
    content = {_FINGERPRINT: fingerprint, _STAT: json_record(stat)}
    path = _path(folder, FileGroupId(stat.partition_path, stat.file_id))
    storage.write(path, json.dumps(content).encode())


def find_record(storage: Storage, folder: str, group: FileGroupId, fingerprint: str) -> WriteStat | None:
    """Return the write stat of the base file that an earlier attempt completed.

    Return None if there is no such file, or if that attempt had other inputs.
    """
    try:
        content = storage.read(_path(folder, group))
        record = Untyped(decode_json_object(content, _WHAT), _WHAT)
        if record.text(_FINGERPRINT) != fingerprint:
            return None
        return write_stat(record.record(_STAT), group.partition_path)
    except (ObjectNotFoundError, MalformedMetadataError):
        return None  # an attempt that died may have written a part of the record


def _path(folder: str, group: FileGroupId) -> str:
    return f"{folder}/{hashlib.sha256(str(group).encode()).hexdigest()[:32]}.json"
