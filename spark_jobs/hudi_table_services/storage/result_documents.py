"""Check the path of a result document, so that the job neither deletes nor replaces any other file."""

import json
import os
import posixpath
import uuid
from collections.abc import Mapping
from urllib.parse import urlsplit

from hudi_table_services.contract.progress import progress_path
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.storage.source_files import source_pattern
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.paths import TEMPORARY_PREFIX, file_name
from hudi_table_services.storage.stores.storage import Storage

_HINT = "Give a new path, or the path of an earlier result document."
_FIELDS_OF_RESULT = ("contract_version", "request_id", "outcome")
_FIELDS_OF_PROGRESS = ("phase", "done", "total")
_SAME_STORES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "gcs": "gs"}
"""Maps a scheme to the scheme that this module uses for the same store."""


def check_result_location(result_path: str, base_path: str, source_path: str = "") -> None:
    """Refuse a result document inside the table or the source. The function reads no file.

    Args:
        base_path: URI or path of the table; empty if the job has no table.
        source_path: file, folder or glob of the rows to write; empty if the job reads no source.

    Raises:
        InvalidRequestError: the result path is the table, a folder above the table, or a path below the table; or it
            is the source or a path below the source; or it is in a folder ``.hoodie``.
    """
    result = _address(result_path)
    table = _address(base_path) if base_path else None
    if table is not None and (_is_in(result, table) or _is_in(table, result)):
        raise InvalidRequestError(
            f"The result path {result_path!r} is not outside of the table {base_path!r}.",
            hint="Give a path outside of the table.",
        )
    if ".hoodie" in result[1].split("/"):
        raise InvalidRequestError(
            f"The result path {result_path!r} is in a folder .hoodie, where Hudi stores the state of a table.",
            hint="Give a path outside of all tables.",
        )
    if source_path and _is_in_source(result, source_path):
        raise InvalidRequestError(
            f"The result path {result_path!r} is the source {source_path!r}, or is inside the source.",
            hint="Give a path outside of the source.",
        )


def check_result_target(storage: Storage, name: str, result_path: str) -> None:
    """Refuse a result path that cannot be written, or whose file is not a result document. The file is not changed.

    The function writes and deletes a temporary file in the folder of the document.

    Args:
        storage: storage of the folder of the document.
        name: file name of the document.

    Raises:
        InvalidRequestError: the path or the path of its progress document is a folder, a device, or a file that no job
            wrote; or the folder cannot be made or written.
        StorageError: the storage refused to read the file.
    """
    for each, fields in ((name, _FIELDS_OF_RESULT), (file_name(progress_path(name)), _FIELDS_OF_PROGRESS)):
        shown = f"{result_path.removesuffix(name)}{each}"
        if _is_folder_or_device(storage, each):
            raise InvalidRequestError(
                f"The result document cannot be written to {shown!r}: the path is a folder or a device.",
                hint=_HINT,
            )
        if storage.exists(each) and not _is_own_document(storage, each, fields):
            raise InvalidRequestError(
                f"The result document cannot be written to {shown!r}: the file exists, and is not a document of an "
                "earlier job. The file is unchanged.",
                hint=_HINT,
            )
    _check_folder(storage, result_path)


def _check_folder(storage: Storage, result_path: str) -> None:
    """Write and delete a temporary file, so that a job finds out before its work whether it can write the folder."""
    probe = f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
    try:
        storage.write(probe, b"")
        storage.delete(probe)
    except HudiTableServiceError as error:
        raise InvalidRequestError(
            f"The result document cannot be written to {result_path!r}: {error.message.partition(': ')[2]}",
            hint="Give a path in a folder that the job can write.",
        ) from error


def _is_folder_or_device(storage: Storage, name: str) -> bool:
    if storage.has_folder(name):
        return True
    if isinstance(storage, LocalStorage):
        full = os.path.join(storage.root, name)
        return os.path.exists(full) and not os.path.isfile(full)
    return False


def _is_own_document(storage: Storage, name: str, fields: tuple[str, ...]) -> bool:
    """Whether a file is a JSON object with these fields. If the first byte is not ``{``, the rest is not read."""
    with storage.open_reader(name) as file:
        if file.read(1) != b"{":
            return False
    try:
        document = json.loads(storage.read(name))
    except ValueError:
        return False
    return isinstance(document, Mapping) and all(field in document for field in fields)


def _address(path: str) -> tuple[str, str]:
    """Return the store and the normalized path. In a local path, links are replaced by their targets."""
    if path.startswith("file:") or "://" not in path:
        return "file", os.path.realpath(open_storage(path).base_path)
    parts = urlsplit(path, allow_fragments=False)
    scheme = _SAME_STORES.get(parts.scheme, parts.scheme)
    return f"{scheme}://{parts.netloc}", posixpath.normpath(f"/{parts.path.strip('/')}")


def _is_in(address: tuple[str, str], folder: tuple[str, str]) -> bool:
    """Whether an address is the given folder, or is below it."""
    return address[0] == folder[0] and f"{address[1]}/".startswith(f"{folder[1].rstrip('/')}/")


def _is_in_source(address: tuple[str, str], source_path: str) -> bool:
    """Whether an address is a file or folder that Spark reads for a source, or is below such a folder."""
    folder, patterns = source_pattern(source_path)
    above = _address(folder)
    if not _is_in(address, above):
        return False
    names = address[1][len(above[1].rstrip("/")) :].strip("/").split("/")
    return len(names) >= len(patterns) and all(
        pattern.fullmatch(name) for pattern, name in zip(patterns, names, strict=False)
    )
