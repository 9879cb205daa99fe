"""Names of base files and log files (FSUtils, HoodieBaseFile, HoodieLogFile; Hudi 1.2).

`BaseFile` and `LogFile` are named tuples and not frozen dataclasses, because the file slices of a table consist of many
of them, and a tuple is created in half of the time.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from hudi_table_services.errors import MalformedFileNameError

_BASE = re.compile(
    r"(?P<file_id>[^_./][^_/]*)_(?P<token>[^_./]+)_(?P<instant>\d{14,23})(?P<extension>\.[a-z]+)", re.ASCII
)
_LOG = re.compile(
    r"\.(?P<file_id>[^_/]+)_(?P<instant>\d{14,23})\.log\.(?P<version>\d{1,10})"
    r"(?:_(?P<token>\d+-\d+-\d+))?(?P<suffix>[.-]cdc)?",
    re.ASCII,
)
BASE_FILE_EXTENSIONS = frozenset({".parquet", ".orc", ".hfile", ".lance"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class WriteToken:
    """``<task partition>-<stage>-<attempt>``: distinguishes the attempts that wrote one file slice."""

    task_partition: int
    stage: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.task_partition}-{self.stage}-{self.attempt}"


class BaseFile(NamedTuple):
    """The columnar file of a file slice.

    Attributes:
        file_id: id of the file group. It contains no ``_``. It should also contain no ``.``, because Hudi's bloom index
            does not find files with a ``.`` in their id.
        write_token: the write token as a string, because other writers may use another format.
        instant_time: requested time of the instant that wrote the file.
        extension: file extension with the dot, e.g. ``.parquet``.
        size_bytes: length on storage; -1 if only the name is known.
    """

    file_id: str
    write_token: str
    instant_time: str
    extension: str = ".parquet"
    size_bytes: int = -1

    @property
    def file_name(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant_time}{self.extension}"

    @classmethod
    def from_file_name(cls, name: str, size_bytes: int = -1) -> "BaseFile":
        """Parse a file name. Raises MalformedFileNameError if it is not the name of a base file."""
        match = _BASE.fullmatch(name)
        if match is None or match["extension"] not in BASE_FILE_EXTENSIONS:
            raise MalformedFileNameError(f"{name!r} is not the name of a base file.")
        file_id, token, instant, extension = match.groups()
        return cls(
            file_id=file_id,
            write_token=token,
            instant_time=instant,
            extension=extension,
            size_bytes=size_bytes,
        )


class LogFile(NamedTuple):
    """Appended changes of a file slice (merge-on-read).

    Attributes:
        instant_time: in table version 6, the base instant of the slice; from version 8 on, the delta commit's own
            instant.
        version: number of the log file, starting at 1.
        write_token: None if the name contains no write token, as in names of very old writers.
    """

    file_id: str
    instant_time: str
    version: int
    write_token: str | None = None
    is_cdc: bool = False
    size_bytes: int = -1

    @property
    def file_name(self) -> str:
        token = f"_{self.write_token}" if self.write_token is not None else ""
        return f".{self.file_id}_{self.instant_time}.log.{self.version}{token}{'-cdc' if self.is_cdc else ''}"

    @property
    def merge_order(self) -> tuple[str, int, str]:
        """Sort key of the log files of a slice in merge order (HoodieLogFile.LogFileComparator, Hudi 0.15 and 1.2).

        Older log files come first. The write tokens are compared as strings.
        """
        return self.instant_time, self.version, self.write_token or ""

    @classmethod
    def from_file_name(cls, name: str, size_bytes: int = -1) -> "LogFile":
        """Parse a file name. Raises MalformedFileNameError if it is not the name of a log file."""
        log = cls.parse_or_none(name, size_bytes)
        if log is None:
            raise MalformedFileNameError(f"{name!r} is not the name of a log file.")
        return log

    @classmethod
    def parse_or_none(cls, name: str, size_bytes: int = -1) -> "LogFile | None":
        """Parse a file name; None if it is not the name of a log file.

        For example, the checksum file ``.….log.1_0-1-0.crc``, which Hadoop writes for a log file, is not a log file.
        """
        match = _LOG.fullmatch(name)
        if match is None:
            return None
        file_id, instant, version, token, suffix = match.groups()
        return cls(
            file_id=file_id,
            instant_time=instant,
            version=int(version),
            write_token=token,
            is_cdc=suffix is not None,
            size_bytes=size_bytes,
        )


def instant_in_file_name(name: str) -> str | None:
    """Return the requested time in the name of a data file; None if the name is not the name of a data file."""
    match = _BASE.fullmatch(name)
    if match is not None and match["extension"] in BASE_FILE_EXTENSIONS:
        return match["instant"]
    match = _LOG.fullmatch(name)
    return match["instant"] if match is not None else None
