"""Read and write the manifests, which list the files of the timeline history (LSMTimeline, Hudi 1.2)."""

import logging
from collections.abc import Iterable, Mapping

from hudi_table_services.errors import (
    CommitConflictError,
    ObjectExistsError,
    ObjectNotFoundError,
)
from hudi_table_services.hudi_format.history_manifest import (
    VERSION_FILE,
    HistoryFile,
    decode_manifest,
    encode_manifest,
    manifest_name,
    manifest_number,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)


class HistoryManifestStore:
    """Manifests in ``.hoodie/timeline/history``. The caller of a method that writes or deletes holds the table lock."""

    def __init__(self, storage: Storage, config: TableConfig) -> None:
        self._storage = storage
        self._folder = config.archive_folder

    def path_of(self, name: str) -> str:
        """Path of a history file, relative to the base path."""
        return join_path(self._folder, name)

    def files(self) -> tuple[HistoryFile, ...]:
        """Files that the newest manifest lists, sorted by name; empty if there is no history.

        Raises:
            CorruptTableError: the newest manifest cannot be read.
        """
        return self.files_of(self.version())

    def files_of(self, version: int) -> tuple[HistoryFile, ...]:
        """Files that a manifest lists, sorted by name; empty for version 0. See `files` for the errors."""
        return self._manifest(version) if version else ()

    def written_ms(self) -> Mapping[str, int]:
        """Map the name of each file in the folder to the time at which it was written, in milliseconds since 1970."""
        return {each.name: each.modified_ms for each in self._storage.list_folder(self._folder).files}

    def exists(self) -> bool:
        """Whether any manifest was ever published. This takes one request."""
        return bool(self._numbers())

    def publish(self, files: Iterable[HistoryFile]) -> None:
        """Write a manifest that lists these files and make it the newest manifest.

        ``_version_`` is deleted before the manifest is created. Without ``_version_``, readers and Hudi's archiver use
        the newest manifest. An archival that dies between the two steps therefore blocks no later archival.

        Raises:
            CommitConflictError: another archiver published a manifest at the same time.
        """
        number = self.version() + 1
        path = self.path_of(manifest_name(number))
        self._storage.delete(self.path_of(VERSION_FILE))
        content = encode_manifest(sorted(files))
        try:
            self._storage.create(path, content)
        except ObjectExistsError as error:
            raise CommitConflictError(
                f"{path} exists, and {VERSION_FILE} named an older manifest.",
                path=path,
                hint="Another archiver runs without the table lock, or died. Run the request again.",
            ) from error
        self._storage.write(self.path_of(VERSION_FILE), str(number).encode())

    def delete_unreferenced(self, manifests_retained: int) -> None:
        """Delete all but the newest manifests, and delete all history files that no retained manifest lists.

        Raises:
            CorruptTableError: a retained manifest cannot be read; nothing is deleted.
        """
        listed = self._storage.list_folder(self._folder).files
        newest = self.version()
        numbers = sorted(
            n for each in listed if (n := manifest_number(each.name)) is not None and n <= newest
        )
        kept = numbers[-manifests_retained:]
        named = {each.name for number in kept for each in self._manifest(number)}
        to_delete = [
            each.path
            for each in listed
            if manifest_number(each.name) in numbers[:-manifests_retained]
            or (HistoryFile.from_name(each.name) is not None and each.name not in named)
        ]
        for path, failure in self._storage.delete_files(to_delete).items():
            _LOG.warning("%s was not deleted: %s", path, failure)

    def version(self) -> int:
        """Number of the newest manifest; 0 if there is no history. This usually takes one request."""
        try:
            return int(self._storage.read(self.path_of(VERSION_FILE)).decode())
        except (ObjectNotFoundError, ValueError):
            return max(self._numbers(), default=0)

    def _numbers(self) -> list[int]:
        listed = self._storage.list_folder(self._folder).files
        return [n for each in listed if (n := manifest_number(each.name)) is not None]

    def _manifest(self, number: int) -> tuple[HistoryFile, ...]:
        path = self.path_of(manifest_name(number))
        with naming(path):
            return tuple(sorted(decode_manifest(self._storage.read(path))))
