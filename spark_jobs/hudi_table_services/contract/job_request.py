"""The request of a write job: what the flags of the script say, as one JSON document."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from hudi_table_services.contract.json_document import CONTRACT_VERSION, JsonDocument
from hudi_table_services.errors import InvalidRequestError

OPERATIONS = (
    "upsert",
    "insert",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)
_SOURCE_FIELDS = frozenset({"path", "format", "options", "sql"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Where the rows come from.

    Attributes:
        path: file, folder or glob for Spark's reader; empty for sources without a path.
        format: Spark data source, e.g. ``parquet``, ``csv``, ``json``.
        options: options of the reader.
        sql: query over the view ``source``; None: all rows as they are.
    """

    path: str = ""
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    sql: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertRequest:
    """One write to one table.

    Attributes:
        base_path: URI or path of the table.
        request_id: identity of the request; the same id never writes twice.
        table_name: needed to create a table; for an existing one it must be its name. Empty: not given.
        operation: one of `OPERATIONS`.
        record_key, partition_by: columns; ``hoodie.datasource.write.recordkey.field`` and ``…partitionpath.field``.
        ordering_field: columns, comma-separated; ``hoodie.datasource.write.precombine.field``. Empty: none.
        options: Hudi's own keys.
        storage_options: credentials and endpoints of an object store; never shown.
        result_path: file or URI the result document is written to. Empty: not written.
        dry_run: plan, report and write nothing.
    """

    base_path: str
    request_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    table_name: str = ""
    operation: str = "upsert"
    source: SourceSpec | None = None
    record_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    ordering_field: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    result_path: str = ""
    dry_run: bool = False

    def __post_init__(self) -> None:
        if not self.base_path:
            raise InvalidRequestError("The request has no base path.", hint="Give --base-path.")
        if not self.request_id:
            raise InvalidRequestError("The request id is empty.")
        if self.operation not in OPERATIONS:
            raise InvalidRequestError(
                f"There is no operation {self.operation!r}.", hint=f"Known: {', '.join(OPERATIONS)}."
            )

    def to_json(self) -> str:
        """The document; it holds the storage options, so keep it where the credentials may be."""
        document = {"contract_version": CONTRACT_VERSION, **asdict(self)}
        return json.dumps(document, indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "UpsertRequest":
        """Raises InvalidRequestError naming the field that is wrong or unknown."""
        document = JsonDocument(text, "request")
        request = cls(
            base_path=document.text("base_path", ""),
            request_id=document.text("request_id", uuid.uuid4().hex),
            table_name=document.text("table_name", ""),
            operation=document.text("operation", "upsert"),
            source=_source(document.optional_object("source")),
            record_key=document.texts("record_key"),
            partition_by=document.texts("partition_by"),
            ordering_field=document.text("ordering_field", ""),
            options=document.text_map("options"),
            storage_options=document.text_map("storage_options"),
            result_path=document.text("result_path", ""),
            dry_run=document.flag("dry_run"),
        )
        document.finish()
        return request


def _source(fields: Mapping[str, object] | None) -> SourceSpec | None:
    if fields is None:
        return None
    if unknown := sorted(fields.keys() - _SOURCE_FIELDS):
        raise InvalidRequestError(f"The source of the request has unknown fields: {', '.join(unknown)}.")
    options = fields.get("options", {})
    texts = [fields.get("path", ""), fields.get("format", "parquet"), fields.get("sql") or ""]
    if not isinstance(options, dict) or not all(isinstance(t, str) for t in [*texts, *options.values()]):
        raise InvalidRequestError("Path, format, sql and option values of the source must be texts.")
    path, source_format, sql = (str(text) for text in texts)
    return SourceSpec(path=path, format=source_format, options=options, sql=sql or None)
