"""Notes in the header of a container file are stored, and readers of the record skip them."""

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.avro_container import container_notes
from hudi_table_services.hudi_format.table_service_plans import decode_restore_plan, encode_restore_plan
from hudi_table_services.model.table_service_plans import RestorePlan

PLAN = RestorePlan(savepoint_to_restore="20260102030405006")


def test_decoded_notes_equal_the_encoded_notes_and_the_plan_is_unchanged() -> None:
    content = encode_restore_plan(PLAN, {"airflow.request_id": "größe-1"})
    assert container_notes(content) == {"airflow.request_id": "größe-1"}
    assert decode_restore_plan(content) == PLAN
    assert container_notes(encode_restore_plan(PLAN)) == {}


def test_data_that_is_not_a_container_file_is_refused() -> None:
    with pytest.raises(MalformedMetadataError, match="cannot be read"):
        container_notes(b"{}")
