"""Binary streams over the calls of a storage client."""

import io
from collections.abc import Callable
from typing import Any


class RangeReader(io.RawIOBase):
    """A seekable stream that reads byte ranges.

    Args:
        size: length of the file in bytes.
        read_range: returns the bytes at an offset, with a given length.
        tail: the last bytes of the file if they are known. The stream does not read them again.
    """

    def __init__(self, size: int, read_range: Callable[[int, int], Any], tail: bytes = b"") -> None:
        self._size = size
        self._read_range = read_range
        self._tail = memoryview(tail)
        self._tail_start = size - len(tail)
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
        if self._position >= self._tail_start:
            first = self._position - self._tail_start
            data = self._tail[first : first + wanted]
        else:
            # A raw stream may return fewer bytes than requested, so a read ends where the known bytes begin.
            data = self._read_range(self._position, min(wanted, self._tail_start - self._position))
        buffer[: len(data)] = memoryview(data)
        self._position += len(data)
        return len(data)

    def readall(self) -> bytes:
        """Read the rest with one call for the unknown bytes. The inherited method would read 8 KiB with each call."""
        content = bytearray(max(0, self._size - self._position))
        read = 0
        while count := self.readinto(memoryview(content)[read:]):
            read += count
        return bytes(content[:read])


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
