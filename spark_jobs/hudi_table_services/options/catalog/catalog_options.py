"""Convert hoodie.* keys to the typed settings of a catalog sync."""

from dataclasses import dataclass

from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import CatalogKind, CatalogSettings
from hudi_table_services.options.keys import catalog as keys
from hudi_table_services.options.keys.writing import METADATA_ENABLE, TABLE_NAME
from hudi_table_services.options.option import AnyOption, Option, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options, with_fields

_SCHEME = "thrift://"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogJobOptions:
    """All options of a catalog sync.

    Attributes:
        catalog: settings of the sync.
        metadata_enable: whether the job may list partitions with the metadata table; None means that the table
            decides.
        warnings: one sentence for each key that has no effect.
    """

    catalog: CatalogSettings
    metadata_enable: bool | None
    warnings: tuple[str, ...] = ()


def resolve_catalog_options(request: SyncCatalogRequest) -> CatalogJobOptions:
    """Check all keys of a request and convert them to typed settings.

    Raises:
        InvalidRequestError: an option is unknown, invalid or not supported. The message names the key.
    """
    fields: dict[AnyOption, object] = {
        TABLE_NAME: request.table_name,
        keys.MODE: request.catalog,
        keys.DATABASE: request.database,
        keys.TABLE: request.catalog_table,
        keys.METASTORE_URIS: request.metastore_uris,
    }
    named, warnings = known_options(with_fields(request.options, fields), OptionGroup.CATALOG)
    reader = OptionReader(named)
    for unsupported in (keys.USE_JDBC, keys.MANAGED_TABLE, keys.BUCKET_SYNC, keys.IGNORE_EXCEPTIONS):
        if reader[unsupported]:
            raise InvalidRequestError(
                f"{unsupported}=true is not supported; the value {unsupported.meaning}.",
                hint="Leave the key out.",
            )
    return CatalogJobOptions(
        catalog=_settings(reader, request, names_metastore=keys.METASTORE_URIS.key in named),
        metadata_enable=reader[METADATA_ENABLE],
        warnings=warnings,
    )


def _settings(reader: OptionReader, request: SyncCatalogRequest, *, names_metastore: bool) -> CatalogSettings:
    kind = reader[keys.MODE]
    is_glue = kind is CatalogKind.GLUE
    return CatalogSettings(
        kind=kind,
        database=(reader[keys.GLUE_DATABASE] if is_glue else "") or reader[keys.DATABASE],
        table=(reader[keys.GLUE_TABLE] if is_glue else "") or reader[keys.TABLE],
        location=reader[keys.LOCATION].rstrip("/"),
        metastore_uris=_metastore_uris(reader),
        names_metastore=names_metastore,
        glue_region=reader[keys.GLUE_REGION] or request.storage_options.get("aws_region", ""),
        glue_endpoint=reader[keys.GLUE_ENDPOINT],
        glue_catalog_id=reader[keys.GLUE_CATALOG],
        skip_glue_archive=reader[keys.GLUE_SKIP_ARCHIVE],
        metadata_listing=reader[keys.GLUE_METADATA_LISTING],
        partition_fields=reader[keys.PARTITION_FIELDS] or None,
        extractor=reader[keys.PARTITION_EXTRACTOR],
        decodes_partitions=reader[keys.DECODE_PARTITION],
        creates_database=reader[keys.CREATE_DATABASE],
        supports_timestamp=reader[keys.SUPPORT_TIMESTAMP],
        omits_meta_columns=reader[keys.OMIT_META_COLUMNS],
        syncs_comments=reader[keys.SYNC_COMMENT],
        is_spark_table=reader[keys.AS_DATA_SOURCE],
        spark_version=reader[keys.SPARK_VERSION],
        schema_part_length=reader[keys.SCHEMA_LENGTH],
        table_properties=_pairs(reader, keys.TABLE_PROPERTIES),
        serde_properties=_pairs(reader, keys.SERDE_PROPERTIES),
        batch_size=reader[keys.BATCH_SIZE],
        only_if_changed=reader[keys.ONLY_IF_CHANGED],
        strategy=reader[keys.STRATEGY],
        skips_ro_suffix=reader[keys.SKIP_RO_SUFFIX],
    )


def _metastore_uris(reader: OptionReader) -> tuple[str, ...]:
    uris = reader[keys.METASTORE_URIS]
    for uri in uris:
        host, separator, port = uri.removeprefix(_SCHEME).rpartition(":")
        if not (uri.startswith(_SCHEME) and host and separator and port.isascii() and port.isdigit()):
            raise InvalidRequestError(
                f"{keys.METASTORE_URIS}: {uri!r} is not of the form thrift://host:port.",
                hint="Separate several addresses with commas.",
            )
    return uris


def _pairs(reader: OptionReader, option: Option[str]) -> dict[str, str]:
    """Parse lines of the form ``key=value``, as ConfigUtils.toMap of Hudi does."""
    found = {}
    for line in reader[option].splitlines():
        key, separator, value = line.partition("=")
        if line.strip() and not (separator and key.strip()):
            raise InvalidRequestError(f"{option}: the line {line!r} is not of the form key=value.")
        if line.strip():
            found[key.strip()] = value.strip()
    return found
