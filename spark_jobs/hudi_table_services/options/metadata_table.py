"""Convert hoodie.* keys to the typed options of the job that rebuilds the metadata table."""

from dataclasses import dataclass

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.writing import METADATA_ENABLE, TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import index_settings
from hudi_table_services.options.metadata_settings_values import IndexSettings
from hudi_table_services.options.option import OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options, with_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableOptions:
    """All options of a job that rebuilds the metadata table.

    Attributes:
        indexes: settings of the indexes to build.
        warnings: one sentence for each key that has no effect.
    """

    indexes: IndexSettings
    lock: LockOptions
    warnings: tuple[str, ...] = ()


def resolve_metadata_table_options(request: RebuildMetadataTableRequest) -> MetadataTableOptions:
    """Check all keys of a request and convert them.

    Raises:
        InvalidRequestError: an option is invalid or contradicts the request. The message names the key.
    """
    given = with_fields(request.options, {TABLE_NAME: request.table_name})
    named, warnings = known_options(given, OptionGroup.METADATA_TABLE)
    reader = OptionReader(named)
    if request.builds and reader.text(METADATA_ENABLE).lower() == "false":
        raise InvalidRequestError(
            f"{METADATA_ENABLE}=false contradicts the request, which builds the metadata table.",
            hint="Leave the key out.",
        )
    return MetadataTableOptions(indexes=index_settings(reader), lock=LockOptions.of(named), warnings=warnings)
