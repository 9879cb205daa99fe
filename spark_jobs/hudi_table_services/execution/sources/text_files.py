"""Read the beginning of a text file of a source."""

import codecs
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.source_files import SourceFile

READ_BYTES = 1 << 20
"""Largest number of bytes of a text file that a check reads."""

BYTE_ORDER_MARK = "\ufeff"
LINE_BREAK = re.compile(r"\r\n|\n|\r")
"""Matches the ends of lines at which Spark separates the rows of text files."""

_GZIP = (".gz", ".gzip")
COMPRESSED = (*_GZIP, ".bz2", ".lz4", ".zst", ".snappy", ".deflate")
"""Ends of the names of compressed files, in lower case."""

_MAGIC = {b"PAR1": "a Parquet", b"ORC": "an ORC", b"Obj\x01": "an Avro"}
"""Maps the first bytes of a file to its format, with an article."""


@dataclass(frozen=True, slots=True)
class TextStart:
    """The beginning of a text file.

    Attributes:
        text: the first characters; empty if the file is not UTF-8, or is compressed by a codec other than gzip.
        is_cut: whether the file may contain more characters.
        is_utf8: False if the first bytes are not UTF-8.
    """

    text: str
    is_cut: bool = False
    is_utf8: bool = True

    def lines(self, count: int) -> Sequence[str]:
        """Return the first lines that are not empty, at most `count`. A line that may be cut is left out."""
        lines = LINE_BREAK.split(self.text)
        whole = lines[:-1] if self.is_cut else lines
        return tuple(islice((line for line in whole if line.strip()), count))

    def without_byte_order_mark(self) -> "TextStart":
        """Return the same text without a byte order mark at its beginning, which Spark ignores in JSON files."""
        return replace(self, text=self.text.removeprefix(BYTE_ORDER_MARK))


def read_start(file: SourceFile) -> TextStart:
    """Read at most `READ_BYTES` of a text file, after decompression.

    Raises:
        InvalidRequestError: the file has a binary format, or is a damaged gzip file.
        StorageError: the file cannot be read.
    """
    name = file.stored.path.lower()
    if name.endswith(COMPRESSED) and not name.endswith(_GZIP):
        return TextStart("")
    try:
        with file.storage.open_reader(file.stored.path) as stream:
            if name.endswith(_GZIP):
                with gzip.open(stream) as unpacked:
                    start = unpacked.read(READ_BYTES)
            else:
                start = stream.read(READ_BYTES)
        _refuse_binary(start, file)
        is_cut = len(start) == READ_BYTES
        # The last bytes of the beginning may be a part of a character.
        return TextStart(codecs.getincrementaldecoder("utf-8")().decode(start, final=not is_cut), is_cut)
    except zlib.error as error:
        raise InvalidRequestError(
            f"The source file {file.uri} is damaged: gzip cannot decompress it ({error}).",
            hint="Write the file again, or leave it out of the source.",
        ) from error
    except UnicodeDecodeError:
        return TextStart("", is_utf8=False)
    except (gzip.BadGzipFile, EOFError):
        return TextStart("")


def refuse_other_encoding(start: TextStart, file: SourceFile) -> None:
    """Refuse a file that is not UTF-8, of a request without the option `encoding`: Spark would replace characters.

    Raises:
        InvalidRequestError: the first bytes of the file are not UTF-8.
    """
    if not start.is_utf8:
        raise InvalidRequestError(
            f"The source file {file.uri} is not encoded in UTF-8.",
            hint="Set the source option encoding to the encoding of the file, such as encoding=ISO-8859-1 or "
            "encoding=windows-1252, or write the file in UTF-8.",
        )


def _refuse_binary(start: bytes, file: SourceFile) -> None:
    """Refuse a file that begins like a file of a binary format, because Spark would read its bytes as characters."""
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            raise InvalidRequestError(
                f"The source file {file.uri} is {name} file, but the source has a text format.",
                hint="Set --source-format to the format of the file, such as parquet.",
            )
