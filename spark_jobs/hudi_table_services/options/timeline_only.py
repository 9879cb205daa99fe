"""Options of services that have no keys of their own: only the options of the lock and of the metadata table."""

from dataclasses import dataclass

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.option import OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of savepoints, rollback, restore and the repair of orphans.

    Attributes:
        lock: settings of the table lock.
        metadata: options of the metadata table.
        warnings: one sentence for each key that has no effect.
    """

    lock: LockOptions
    metadata: MetadataTableSettings
    warnings: tuple[str, ...] = ()


def resolve_service_options(request: JobRequest) -> ServiceOptions:
    """Check all keys of a request and convert them.

    Raises:
        InvalidRequestError: an option is invalid. The message names the key and the allowed values.
    """
    named, warnings = known_options(request.options, OptionGroup.TIMELINE)
    reader = OptionReader(named)
    return ServiceOptions(
        lock=LockOptions.of(named),
        metadata=metadata_table_settings(reader),
        warnings=warnings,
    )
