"""Documents are read strictly: what JSON or Python would let pass is refused by name."""

import pytest

from hudi_table_services.contract.json_document import parse_document
from hudi_table_services.errors import InvalidRequestError


def test_fields_come_without_the_version() -> None:
    assert parse_document('{"contract_version": 1, "a": null}', "request") == (1, {"a": None})
    assert parse_document('{"contract_version": 2}', "request") == (2, {})


@pytest.mark.parametrize("version", ["true", "1.0", '"1"', "null", "3", "[1]"])
def test_only_the_whole_number_is_the_version(version: str) -> None:
    with pytest.raises(InvalidRequestError, match="contract_version"):
        parse_document(f'{{"contract_version": {version}}}', "request")


@pytest.mark.parametrize(
    "text",
    [
        '{"contract_version": 1, "a": 1, "a": 1}',
        '{"contract_version": 1, "options": {"b": "", "a": "1", "a": "2"}}',
    ],
)
def test_a_field_that_comes_twice_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="has the field 'a' twice"):
        parse_document(text, "request")
