"""Local storage that does not wait until files are on the disk, so that a benchmark creates its table in seconds."""

from pathlib import Path

from hudi_table_services.storage.stores.local import LocalStorage


class QuickStorage(LocalStorage):
    """Local storage whose writes and creations are neither synced nor atomic. Only one process may write."""

    def create(self, path: str, data: bytes) -> None:
        if self.exists(path):
            super().create(path, data)  # raises the error about an existing file
        self.write(path, data)

    def write(self, path: str, data: bytes) -> None:
        target = Path(self.base_path) / path
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
        target.write_bytes(data)
