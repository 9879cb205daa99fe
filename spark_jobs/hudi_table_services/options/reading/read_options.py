"""Convert Hudi's keys of a read to a typed query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.predicate import Predicate
from hudi_table_services.model.reading.query import EARLIEST, QueryType, TableQuery
from hudi_table_services.options.keys import reading as keys
from hudi_table_services.options.keys.compaction import DELETE_SETTINGS
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.options.option import OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """The typed options of a read: the query, and further settings.

    Attributes:
        merge_settings: settings of the merge rule that tables before version 9 do not store.
        warnings: one sentence for each known key that has no effect on a read.
    """

    query: TableQuery
    merge_settings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_request(
    options: Mapping[str, str],
    *,
    columns: Sequence[str] | None = None,
    predicates: Sequence[Predicate] = (),
) -> ReadRequest:
    """Check the options of a read and convert them.

    Args:
        columns: the columns to read, without duplicates; None for all columns.

    Raises:
        InvalidRequestError: an option is unknown, invalid or not supported, or two options contradict each other.
    """
    for key, reason in keys.REFUSED_READS.items():
        if key in options and options[key].strip().lower() not in keys.HARMLESS_VALUES:
            raise InvalidRequestError(
                f"{key}={options[key]} is not supported: {reason}.", hint="Leave the key out."
            )
    others = {
        key: value
        for key, value in options.items()
        if key not in DELETE_SETTINGS and key not in keys.REFUSED_READS
    }
    named, warnings = known_options(others, OptionGroup.READS)
    reader = OptionReader(named)
    for option in keys.STREAM_OPTIONS:
        if option in reader:
            raise InvalidRequestError(
                f"{option} has an effect only on streams.",
                hint="Leave the option out, or use spark.readStream.",
            )
    query = TableQuery(
        query_type=reader[keys.QUERY_TYPE],
        as_of=reader[keys.AS_OF],
        begin=reader[keys.BEGIN],
        end=reader[keys.END],
        holes=reader[keys.HOLES_POLICY],
        scans_table_if_incomplete=reader[keys.FULL_SCAN],
        columns=None if columns is None else _columns(columns),
        predicates=tuple(predicates),
        skips_files=reader[keys.DATA_SKIPPING],
        metadata_enable=reader[METADATA_ENABLE] is not False,
    )
    _check(query)
    return ReadRequest(
        query=query,
        merge_settings={key: options[key] for key in DELETE_SETTINGS if key in options},
        warnings=warnings,
    )


def change_request(options: Mapping[str, str], begin: str, columns: Sequence[str] | None) -> ReadRequest:
    """Check the arguments of a read of changes and convert them to an incremental query.

    Raises:
        InvalidRequestError: see `read_request`; or an option has no meaning for a read of changes.
    """
    for option in (keys.QUERY_TYPE, keys.AS_OF, keys.BEGIN, keys.FULL_SCAN):
        if OptionReader(options).text(option):
            raise InvalidRequestError(
                f"{option} has no meaning for a read of changes.", hint="Leave the option out."
            )
    if not begin.strip():
        raise InvalidRequestError(
            "The read of changes has no start.", hint=f"Pass the end of the previous window, or {EARLIEST}."
        )
    window = {keys.QUERY_TYPE.key: QueryType.INCREMENTAL.value, keys.BEGIN.key: begin}
    return read_request({**options, **window}, columns=columns)


def _columns(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not columns:
        raise InvalidRequestError(
            f"columns={columns!r} is not a list of names.",
            hint="Pass a list with at least one column, or leave columns out to read all columns.",
        )
    return tuple(dict.fromkeys(columns))


def _check(query: TableQuery) -> None:
    """Refuse options that contradict the kind of the query."""
    is_incremental = query.query_type is QueryType.INCREMENTAL
    if is_incremental and not query.begin:
        raise InvalidRequestError(
            f"An incremental read needs {keys.BEGIN}.",
            hint="Pass the end of the previous read, or earliest to read all commits.",
        )
    if is_incremental and query.as_of:
        raise InvalidRequestError(
            f"{keys.AS_OF} has no meaning in an incremental read.",
            hint=f"Pass {keys.END} to end the window at a point in time.",
        )
    if not is_incremental and (query.begin or query.end):
        key = keys.BEGIN if query.begin else keys.END
        raise InvalidRequestError(
            f"{key} has no effect on a {query.query_type.value} read.",
            hint=f"Set {keys.QUERY_TYPE}=incremental, or leave {key} out.",
        )
