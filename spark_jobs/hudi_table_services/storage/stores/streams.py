"""Binary streams over the calls of a storage client."""

import io
from collections.abc import Callable
from typing import Any


class RangeReader(io.RawIOBase):
    """A seekable stream that reads byte ranges.

    Args:
        size: length of the file in bytes.
        read_range: returns the bytes at an offset, with a given length.
    """

    def __init__(self, size: int, read_range: Callable[[int, int], Any]) -> None:
        self._size = size
        self._read_range = read_range
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), max(0, self._size - self._position))
        if wanted == 0:
            return 0
        data = self._read_range(self._position, wanted)
        buffer[: len(data)] = memoryview(data)
        self._position += len(data)
        return len(data)


class Upload(io.RawIOBase):
    """A stream whose content is complete when the stream is closed.

    Args:
        write: writes the next bytes.
        finish: completes the file. The stream calls it once.
    """

    def __init__(self, write: Callable[[memoryview], object], finish: Callable[[], object]) -> None:
        self._write = write
        self._finish = finish
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        # Arrow's buffers contain signed bytes, which clients do not accept.
        octets = memoryview(data).cast("B")
        self._write(octets)
        self._written += octets.nbytes
        return octets.nbytes

    def close(self) -> None:
        if not self.closed:
            try:
                self._finish()
            finally:
                super().close()
