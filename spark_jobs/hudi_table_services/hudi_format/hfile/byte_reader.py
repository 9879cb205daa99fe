"""Access to integers and byte strings in a piece of an HFile. Reading beyond the end is an error.

HFiles contain variable-length integers in two formats: the format of protobuf (trailer, file info), and the format of
Hadoop's WritableUtils (index entries, the end of a cell).
"""

import struct

from hudi_table_services.errors import MalformedMetadataError

_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_MAX_VARINT_BYTES = 10
_SHORT_VLONG = -112


class ByteReader:
    """Reads values one after another.

    Each method that reads raises MalformedMetadataError if the bytes end too early or are not a value of its kind.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self.position = 0

    @property
    def left(self) -> int:
        """Return the number of bytes that were not read yet."""
        return len(self._data) - self.position

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self._data):
            raise self.error(f"{size} bytes are expected, but {self.left} are left")
        piece = self._data[self.position : end]
        self.position = end
        return piece

    def int16(self) -> int:
        return self._integer(_INT16)

    def int32(self) -> int:
        return self._integer(_INT32)

    def int64(self) -> int:
        return self._integer(_INT64)

    def varint(self) -> int:
        """Read an unsigned protobuf integer of at most 64 bits."""
        value = 0
        for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise self.error("an integer has more than 64 bits")

    def vlong(self) -> int:
        """Read an integer in Hadoop's form. Negative integers are refused, because an HFile contains none."""
        (first,) = self.take(1)
        signed = first - 256 if first > 127 else first
        size = _SHORT_VLONG - signed
        if signed < 0 and not 1 <= size <= 8:
            raise self.error(f"a variable-length integer starts with {first:#04x}, which is not possible")
        return signed if signed >= 0 else int.from_bytes(self.take(size), "big")

    def error(self, reason: str) -> MalformedMetadataError:
        """Return the error to raise, with the position in these bytes."""
        return MalformedMetadataError(
            f"{self._what}: {reason}, at byte {self.position} of {len(self._data)}."
        )

    def _integer(self, form: struct.Struct) -> int:
        value: int
        (value,) = form.unpack(self.take(form.size))
        return value


def varint_bytes(value: int) -> bytes:
    """Encode an integer in protobuf's form. The integer must be 0 or greater."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def vlong_bytes(value: int) -> bytes:
    """Encode an integer in Hadoop's form. The integer must be 0 or greater."""
    if value <= 0x7F:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([_SHORT_VLONG - size + 256]) + value.to_bytes(size, "big")
