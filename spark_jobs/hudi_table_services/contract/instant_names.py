"""Instant times in requests."""

from hudi_table_services.contract.job_request import refuse_text_for_columns
from hudi_table_services.errors import InvalidRequestError


def check_instants(instants: tuple[str, ...]) -> None:
    """Raises InvalidRequestError for what is no instant time."""
    refuse_text_for_columns(instants=instants)
    for instant in instants:
        if not (instant.isascii() and instant.isdigit() and 14 <= len(instant) <= 20):
            raise InvalidRequestError(
                f"{instant!r} is not an instant time.", hint="Instant times look like 20260102030405006."
            )
