"""Options of a write, and the errors of their resolution."""

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.locks import FILE_SYSTEM_PROVIDER
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions

OCC = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": FILE_SYSTEM_PROVIDER,
}
WRITE = "hoodie.datasource.write."
DEFAULT_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"


def resolve(options: dict[str, str] | None = None, **request: object) -> WriteOptions:
    return resolve_options(UpsertRequest(base_path="/t", options=options or {}, **request))  # type: ignore[arg-type]


def refusal(options: dict[str, str], **request: object) -> str:
    with pytest.raises(HudiTableServiceError) as refused:
        resolve(options, **request)
    return str(refused.value)
