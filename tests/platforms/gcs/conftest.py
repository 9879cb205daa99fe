"""Fixture of this folder: a server of the XML API of Google Cloud Storage that all tests share."""

from collections.abc import Iterator

import pytest
from google_account import Gcs, running_gcs


@pytest.fixture(scope="session")
def gcs() -> Iterator[Gcs]:
    with running_gcs() as running:
        yield running


@pytest.fixture(autouse=True)
def _only_documented_requests(gcs: Gcs) -> Iterator[None]:
    yield
    assert gcs.server.undocumented == []
