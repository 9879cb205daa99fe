"""Options of services that change the timeline only: the lock, and the treatment of a metadata table."""

from dataclasses import dataclass

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options, metadata_enable


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of savepoints, rollback, restore and the repair of orphans.

    Attributes:
        metadata_enable: False: go on although the table has an active metadata table; None: refuse such a table.
        warnings: keys without effect.
    """

    lock: LockOptions
    metadata_enable: bool | None
    warnings: tuple[str, ...] = ()


def resolve_service_options(request: JobRequest) -> ServiceOptions:
    """Raises InvalidRequestError naming the key, its value and what is allowed."""
    named, warnings = known_options(request.options, Service.TIMELINE)
    return ServiceOptions(
        lock=LockOptions.of(named), metadata_enable=metadata_enable(OptionReader(named)), warnings=warnings
    )
