"""The request of a job as one JSON document. The flags of the job's script set the same fields."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, TypeVar

from hudi_table_services.contract.json_document import (
    CONTRACT_VERSION,
    JsonDocument,
    parse_document,
    read_record,
)
from hudi_table_services.errors import InvalidRequestError

# The options cannot be imported here; a test compares these names with the declaration.
_TABLE_NAME_OPTIONS = ("hoodie.table.name", "hoodie.datasource.write.table.name")
_ONE_TIME_PREFIX = "once-"

WHEN_HELD = ("fail", "wait")
"""What a job that executes a plan can do while another job is executing the plan."""

_RequestT = TypeVar("_RequestT", bound="JobRequest")


def _one_time_id() -> str:
    return _ONE_TIME_PREFIX + uuid.uuid4().hex  # noqa: TID251 - no plan depends on this random id


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Fields that the requests of all jobs share.

    Attributes:
        base_path: URI or path of the table.
        request_id: identity of the request. Jobs do the work of one request id at most once. Default: a new id for
            each request.
        table_name: name that an existing table must have. Default: the name in the options. Empty means that any
            name is allowed.
        options: options with Hudi's own keys.
        storage_options: credentials and endpoints of an object store. They are never logged or shown.
        result_path: file or URI to which the job writes the result document. Empty means no result document.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = ""
    """Name of the service that the request is for."""

    needs_base_path: ClassVar[bool] = True
    """Whether the job needs a table."""

    base_path: str
    request_id: str = field(default_factory=_one_time_id)
    table_name: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    result_path: str = ""

    def __post_init__(self) -> None:
        if not self.base_path and self.needs_base_path:
            raise InvalidRequestError(
                "The request has no base path.", hint="Give the folder of the table (--base-path)."
            )
        if not self.request_id:
            raise InvalidRequestError(
                "The request id is empty.", hint="Omit the request id: the job then generates one."
            )
        for key, value in self.options.items():
            if not isinstance(value, str):
                raise InvalidRequestError(
                    f"Option {key} is a {type(value).__name__}; write its value as a string."
                )
        object.__setattr__(self, "table_name", self.table_name or self._name_in_options())

    @property
    def work(self) -> str:
        """Return the operation of the job, e.g. ``upsert`` or ``schedule_clustering``."""
        raise NotImplementedError

    def _name_in_options(self) -> str:
        return next((self.options[key] for key in _TABLE_NAME_OPTIONS if self.options.get(key)), "")

    @property
    def has_credentials(self) -> bool:
        """Whether the document of the request may contain credentials of an object store."""
        return bool(self.storage_options)

    def without_credentials(self) -> "JobRequest":
        """Return the request without settings of object stores."""
        return replace(self, storage_options={})

    @property
    def can_be_repeated(self) -> bool:
        """Whether the caller chose the request id. If so, a second run of the request does not do the work again."""
        return not self.request_id.startswith(_ONE_TIME_PREFIX)

    @classmethod
    def from_json(cls: type[_RequestT], text: str) -> _RequestT:
        """Parse a request. Raises InvalidRequestError with the name of a wrong or unknown field."""
        _, fields = parse_document(text, "request")
        given = read_record(JsonDocument(fields, "request"), cls)
        return cls(**{"base_path": "", **given})

    def to_json(self) -> str:
        """Return the document. It contains the storage options, so store it only where credentials are allowed.

        The document does not contain a generated id: if it did, a second run of the document would find the request
        completed and would do nothing.
        """
        document = {"contract_version": CONTRACT_VERSION, **asdict(self)}
        if not self.can_be_repeated:
            del document["request_id"]
        return json.dumps(document, indent=2, sort_keys=True)


def refuse_text_for_lists(**given: object) -> None:
    """Refuse a string instead of a list: "DE" instead of ["DE"] would mean the names D and E."""
    for name, value in given.items():
        if isinstance(value, str):
            raise InvalidRequestError(
                f"The argument {name} is the string {value!r}, but it must be a list of strings.",
                hint=f"Pass a list: {name}=[{value!r}].",
            )


def check_cancellation(instants: tuple[str, ...], older_than_minutes: int | None) -> None:
    """Check the fields of a request that cancels plans. Raises InvalidRequestError."""
    check_instants(instants)
    if older_than_minutes is not None and older_than_minutes < 0:
        raise InvalidRequestError(
            f"older_than_minutes is {older_than_minutes}, below 0.", hint="Give a number of at least 0."
        )
    if instants and older_than_minutes is not None:
        raise InvalidRequestError(
            "instants and older_than_minutes cannot be combined.", hint="Give one of them."
        )


def check_instants(instants: tuple[str, ...]) -> None:
    """Raise InvalidRequestError if a string is not an instant time."""
    refuse_text_for_lists(instants=instants)
    for instant in instants:
        if not (instant.isascii() and instant.isdigit() and 14 <= len(instant) <= 20):
            raise InvalidRequestError(
                f"{instant!r} is not an instant time.", hint="Instant times look like 20260102030405006."
            )
