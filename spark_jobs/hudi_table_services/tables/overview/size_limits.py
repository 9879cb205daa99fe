"""Find the limits of file sizes that the writers of a table use. Writes of this project record these limits."""

from collections.abc import Iterable, Mapping

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.overview.table_overview import FileSizeLimits
from hudi_table_services.options.writing import DEFAULT_LIMITS, recorded_limits


def size_limits(writes: Iterable[tuple[Instant, Mapping[str, str]]]) -> FileSizeLimits:
    """Return the limits in the newest write that records limits; Hudi's defaults if no write records limits.

    Hudi's own writers record no limits.

    Args:
        writes: completed writes with their extra metadata, in any order.
    """
    newest_first = sorted(writes, key=lambda write: write[0].visible_from, reverse=True)
    found = (recorded_limits(extra, instant.requested_time) for instant, extra in newest_first)
    return next((limits for limits in found if limits is not None), DEFAULT_LIMITS)
