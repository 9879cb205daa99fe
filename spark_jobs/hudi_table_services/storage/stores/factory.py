"""Open the storage behind a base path."""

import os
import re
import sys
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage

_SINGLE_SLASH = re.compile(r"(s3a?|gs|abfss?|az|hdfs):/(?!/)")


def open_storage(uri: str, options: Mapping[str, str] | None = None) -> Storage:
    """Return the storage for a URI or a plain local path, without creating or reading a file.

    Args:
        uri: a local path that is not decoded; or ``file:`` (percent-encoded), ``memory://name``, ``s3://``, ``s3a://``,
            ``gs://``, ``abfs://``, ``abfss://``, ``az://``, ``hdfs://``.
        options: settings of an object store, or keys of Hadoop's configuration.

    Raises:
        InvalidRequestError: the URI is empty or not supported.
    """
    if not uri:
        raise InvalidRequestError("The base path is empty.", hint="Give the folder of the table.")
    refuse_single_slash(uri)
    if uri.startswith("file:"):
        return LocalStorage(_local_root(uri))
    if "://" not in uri:
        return LocalStorage(os.path.abspath(uri))
    if uri.startswith("memory://"):
        return MemoryStorage(uri.removeprefix("memory://").rstrip("/"))
    if uri.startswith("hdfs://"):
        return _hdfs(uri, options or {})
    # Imported here because only object stores need obstore.
    from hudi_table_services.storage.stores.object_store import ObjectStoreStorage

    return ObjectStoreStorage.open(uri, options or {})


def refuse_single_slash(uri: str) -> None:
    """Raise InvalidRequestError if only one slash follows the scheme of an object store or of HDFS.

    Without this check, such a URI would be a relative path on the local file system.
    """
    if found := _SINGLE_SLASH.match(uri):
        raise InvalidRequestError(
            f"In {uri!r}, two slashes must follow {found[1]}:.",
            hint=f"Did you mean {found[1]}://{uri[found.end() :]}?",
        )


def _hdfs(uri: str, options: Mapping[str, str]) -> Storage:
    try:
        from hudi_table_services.storage.stores.hdfs import HdfsStorage
    except ModuleNotFoundError as error:
        if error.name != "hdfs_native":
            raise
        raise InvalidRequestError(
            f"The Python that runs this job, {sys.executable}, has no client for HDFS.",
            hint="Install airflow-provider-hudi[hdfs] there.",
        ) from error
    return HdfsStorage.open(uri, options)


def _local_root(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or not parts.path:
        raise InvalidRequestError(
            f"{uri!r} is not the URI of a local folder.",
            hint="Write file:///folder, with '#', '?' and '%' in names percent-encoded, or give the plain path.",
        )
    return os.path.abspath(unquote(parts.path))
