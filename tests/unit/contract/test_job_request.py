"""The request document: strict reading, complete writing, and no secrets in messages."""

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.contract.writing import OPERATIONS, SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.writing import TABLE_NAME

TEXTS = st.text(max_size=12)
NAMES = st.text(min_size=1, max_size=12)
# The document does not contain a generated request id, which begins with "once-".
CHOSEN_IDS = NAMES.filter(lambda name: not name.startswith("once-"))
PAIRS = st.dictionaries(NAMES, TEXTS, max_size=3)
SOURCES = st.builds(SourceSpec, path=NAMES, format=NAMES, options=PAIRS, sql=st.one_of(st.none(), TEXTS))


@st.composite
def requests(draw: st.DrawFn) -> UpsertRequest:
    operation = draw(st.sampled_from(OPERATIONS))
    return UpsertRequest(
        base_path=draw(NAMES),
        request_id=draw(CHOSEN_IDS),
        table_name=draw(TEXTS),
        operation=operation,
        source=None if operation == "delete_partition" else draw(st.one_of(st.none(), SOURCES)),
        record_key=tuple(draw(st.lists(TEXTS, max_size=3))),
        partition_by=tuple(draw(st.lists(TEXTS, max_size=3))),
        ordering_field=draw(TEXTS),
        timestamps_without_zone=draw(st.sampled_from(["", "utc", "session", "refuse"])),
        options=draw(PAIRS),
        storage_options=draw(PAIRS),
        result_path=draw(TEXTS),
        dry_run=draw(st.booleans()),
    )


def document(**fields: object) -> str:
    return json.dumps({"contract_version": 1, "base_path": "/t", **fields})


@given(requests())
def test_a_request_survives_encoding_and_decoding(request: UpsertRequest) -> None:
    assert UpsertRequest.from_json(request.to_json()) == request


def test_absent_fields_have_the_defaults_of_the_class() -> None:
    assert UpsertRequest.from_json(document(request_id="r")) == UpsertRequest(base_path="/t", request_id="r")


def test_a_generated_request_id_is_not_written_to_the_document() -> None:
    request = UpsertRequest(base_path="/t")
    again = UpsertRequest.from_json(request.to_json())
    assert "request_id" not in json.loads(request.to_json())
    assert again.request_id != request.request_id


def test_every_field_of_the_class_is_in_the_document() -> None:
    written = json.loads(
        UpsertRequest(base_path="/t", request_id="r", source=SourceSpec(path="/s")).to_json()
    )
    assert set(written) == {"contract_version", *(f.name for f in fields(UpsertRequest))}
    assert set(written["source"]) == set(SourceSpec.__slots__)


def test_the_source_can_have_its_own_object_store_settings() -> None:
    source = SourceSpec(table="s3://other/t", storage_options={"aws_secret_access_key": "hunter2"})
    request = UpsertRequest(base_path="/t", request_id="r", source=source)
    assert UpsertRequest.from_json(request.to_json()) == request
    assert request.has_credentials
    assert "hunter" not in repr(request)
    assert "hunter" not in request.without_credentials().to_json()
    with pytest.raises(InvalidRequestError, match="'storage_options' of the source belongs to a Hudi table"):
        SourceSpec(path="/s", storage_options={})


def test_secrets_are_not_in_the_repr() -> None:
    request = UpsertRequest(
        base_path="/t",
        source=SourceSpec(path="/s", options={"password": "hunter2"}),
        storage_options={"aws_secret_access_key": "hunter3"},
    )
    assert "hunter" not in repr(request)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The request is not JSON"),
        ("[]", "The request must be a JSON object"),
        ("{}", 'Add "contract_version": 2'),
        ('{"contract_version": 3}', "contract_version 3; this release reads 1 and 2"),
        ('{"contract_version": "1"}', "contract_version '1'; this release reads 1 and 2"),
        ('{"contract_version": true}', "contract_version True"),
        ('{"contract_version": 1}', "no base path"),
        (document(request_id=""), "request id is empty"),
        (
            document(operation="upsrt"),
            "Unknown operation 'upsrt'. Did you mean upsert? Valid operations: upsert",
        ),
        (document(operation="UPSERT"), "Unknown operation 'UPSERT'"),
        (document(tabel_name="t"), "unknown fields: tabel_name. Did you mean table_name?"),
        (document(zzz=1), "unknown fields: zzz. Valid fields: base_path, "),
        (
            document(source={"path": "/s", "paht": "/s"}),
            "source of the request has unknown fields: paht. Did you",
        ),
        (document(source="/s"), "field 'source' of the request must be a JSON object"),
        (document(source={}), "neither a path nor options"),
        (document(source={"path": "/s", "format": ""}), "format of the source is empty"),
        (
            document(source={"path": 1}),
            "'path' of the source of the request is a number, but must be a string",
        ),
        (
            document(source={"path": "/s"}, operation="delete_partition"),
            "delete_partition does not accept a source",
        ),
        (document(record_key="id"), "'record_key' of the request is a string, but must be a list of strings"),
        (document(record_key=[1]), "'record_key' of the request is a list, but must be a list of strings"),
        (document(dry_run="yes"), "'dry_run' of the request is a string, but must be true or false"),
        (document(options=[]), "'options' of the request is a list"),
        (
            document(options={"hoodie.x": 1}),
            "'options.hoodie.x' of the request is a number, but must be a string",
        ),
        (document(table_name=None), "'table_name' of the request is null"),
    ],
)
def test_the_error_names_the_fault_of_a_bad_document(text: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        UpsertRequest.from_json(text)
    assert message in str(refused.value)


def test_a_value_that_may_be_secret_is_not_repeated_in_the_message() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        UpsertRequest.from_json(document(storage_options={"key": ["hunter2"]}))
    assert "storage_options.key" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_string_instead_of_a_tuple_of_columns_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="record_key is the string 'id', but it must be a list"):
        UpsertRequest(base_path="/t", record_key="id")  # type: ignore[arg-type]


def test_an_option_that_is_not_a_string_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"Option hoodie.index.type is a bool"):
        UpsertRequest(base_path="/t", options={"hoodie.index.type": True})  # type: ignore[dict-item]


def test_requests_without_a_given_id_have_different_ids() -> None:
    first, second = UpsertRequest(base_path="/t"), UpsertRequest(base_path="/t")
    assert first.request_id != second.request_id
    assert not first.can_be_repeated
    assert UpsertRequest(base_path="/t", request_id="mine").can_be_repeated


@pytest.mark.parametrize("key", [TABLE_NAME.key, *TABLE_NAME.aliases])
def test_the_table_name_may_be_given_as_an_option_of_hudi(key: str) -> None:
    request = UpsertRequest(base_path="/t", options={key: "flights"})
    assert request.table_name == "flights"
    assert json.loads(request.to_json())["table_name"] == "flights"
    assert UpsertRequest(base_path="/t", table_name="trips", options={key: "flights"}).table_name == "trips"
