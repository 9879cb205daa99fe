"""Convert the options of a stream to typed values."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import EARLIEST, HolesPolicy, QueryType
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.options.keys import reading as keys
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.reading.read_options import read_request

_WINDOW = (keys.AS_OF, keys.BEGIN, keys.END)
_OWN = (*keys.STREAM_OPTIONS, *_WINDOW, keys.QUERY_TYPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """The typed options of a stream.

    Attributes:
        start: where a stream without checkpoint begins: ``earliest``, ``latest`` or a point in time.
        limits: limits of a micro-batch.
        holes: how the stream treats a pending write in a table of version 6; by default, batches end before the write.
        batch_options: options of the incremental read of each batch, without its window.
        warnings: one sentence for each known key that has no effect on a read.
    """

    start: str
    limits: BatchLimits
    holes: HolesPolicy
    batch_options: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def options_of(self, begin: str, end: str) -> dict[str, str]:
        """Return the options of the incremental read of a batch."""
        return {**self.batch_options, keys.BEGIN.key: begin, keys.END.key: end}


def stream_request(options: Mapping[str, str]) -> StreamRequest:
    """Check the options of a stream and convert them.

    Raises:
        InvalidRequestError: see `read_request`; or an option has no meaning for streams.
    """
    reader = OptionReader(options)
    for option in _WINDOW:
        if option in reader:
            raise InvalidRequestError(
                f"{option} has no meaning for a stream.",
                hint=f"Set {keys.START_OFFSET} to begin at a point in time, or read the table with spark.read.",
            )
    _refuse_read_optimized(options)
    own = {name for option in _OWN for name in (option.key, *option.aliases)}
    batch = {key: value for key, value in options.items() if key not in own}
    batch.setdefault(keys.HOLES_POLICY.key, HolesPolicy.BLOCK.value)
    batch[keys.QUERY_TYPE.key] = QueryType.INCREMENTAL.value
    checked = read_request({**batch, keys.BEGIN.key: EARLIEST})
    return StreamRequest(
        start=reader.text(keys.START_OFFSET) or keys.START_OFFSET.default,
        limits=BatchLimits(commits=reader[keys.COMMITS_PER_BATCH], size_bytes=reader[keys.BYTES_PER_BATCH]),
        holes=checked.query.holes,
        batch_options=batch,
        warnings=checked.warnings,
    )


def _refuse_read_optimized(options: Mapping[str, str]) -> None:
    """Refuse a stream of base files. Other query types are accepted: each batch is an incremental read."""
    for name in (keys.QUERY_TYPE.key, *keys.QUERY_TYPE.aliases):
        if keys.QUERY_TYPE.parse(options.get(name, "")) is QueryType.READ_OPTIMIZED:
            raise InvalidRequestError(
                f"{name}=read_optimized is not supported for streams: a compaction adds rows to base files under the "
                "times of earlier commits, so a stream of base files would miss them.",
                hint="Leave the option out.",
            )
