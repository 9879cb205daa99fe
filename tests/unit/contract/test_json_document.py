"""Documents are read strictly: faults that JSON or Python would accept are errors."""

import pytest

from hudi_table_services.contract.json_document import parse_document
from hudi_table_services.errors import InvalidRequestError


def test_parsing_separates_the_version_from_the_fields() -> None:
    assert parse_document('{"contract_version": 1, "a": null}', "request") == (1, {"a": None})
    assert parse_document('{"contract_version": 2}', "request") == (2, {})


@pytest.mark.parametrize("version", ["true", "1.0", '"1"', "null", "3", "[1]"])
def test_the_version_must_be_a_supported_whole_number(version: str) -> None:
    with pytest.raises(InvalidRequestError, match="contract_version"):
        parse_document(f'{{"contract_version": {version}}}', "request")


@pytest.mark.parametrize(
    "text",
    [
        '{"contract_version": 1, "a": 1, "a": 1}',
        '{"contract_version": 1, "options": {"b": "", "a": "1", "a": "2"}}',
    ],
)
def test_the_error_names_a_field_that_occurs_twice(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="has the field 'a' twice"):
        parse_document(text, "request")
