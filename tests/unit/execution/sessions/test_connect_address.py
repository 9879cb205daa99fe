"""Addresses of Spark Connect servers."""

import pytest

from hudi_table_services.errors import ExecutionFailedError, InvalidRequestError
from hudi_table_services.execution.sessions.session import SessionSettings, start_session

SECRET = "canary-8e11"


@pytest.mark.parametrize(
    "remote",
    [
        "localhost:15002",
        "http://localhost:15002",
        f"sc://:15002/;token={SECRET}",
        f"sc://a:b/;token={SECRET}",
    ],
)
def test_an_address_of_another_form_is_refused_without_showing_it(remote: str) -> None:
    with pytest.raises(InvalidRequestError, match="The form is sc://host:port") as raised:
        start_session(SessionSettings(application_name="t", remote=remote))
    assert SECRET not in str(raised.value)


def test_an_address_must_not_choose_the_session() -> None:
    remote = "sc://localhost/;session_id=00000000-0000-4000-8000-000000000000"
    with pytest.raises(InvalidRequestError, match="Remove session_id"):
        start_session(SessionSettings(application_name="t", remote=remote))


def test_an_unknown_host_is_reported_with_its_default_port() -> None:
    with pytest.raises(
        ExecutionFailedError, match="No Spark Connect server answers at missing.invalid:15002"
    ):
        start_session(SessionSettings(application_name="t", remote="sc://missing.invalid"))
