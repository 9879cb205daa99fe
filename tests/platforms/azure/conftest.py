"""Fixture of this folder: an emulator of Azure Blob Storage that all tests share."""

from collections.abc import Iterator

import pytest
from azurite import Azurite, running_azurite


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with running_azurite(tmp_path_factory.mktemp("azurite")) as running:
        yield running
