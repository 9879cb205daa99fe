"""Run the tests for only one table version: ``TABLE_VERSION=9``."""

import pytest

from hudi_table_services.model.table_version import TableVersion

VERSIONS = {"6", "8", "9"}


def deselect_others(config: pytest.Config, items: list[pytest.Item], version: str) -> None:
    """Deselect tests for table versions other than `version`; if `version` is empty, deselect no test."""
    others = VERSIONS - {version} if version else set()
    dropped = [item for item in items if others & set(_parameters(item))]
    items[:] = [item for item in items if item not in dropped]
    config.hook.pytest_deselected(items=dropped)


def _parameters(item: pytest.Item) -> list[str]:
    call = getattr(item, "callspec", None)
    values = () if call is None else call.params.values()
    return [
        str(int(v)) if isinstance(v, TableVersion) else v for v in values if isinstance(v, TableVersion | str)
    ]
