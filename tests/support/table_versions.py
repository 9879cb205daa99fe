"""Run tests for one version of tables only: ``TABLE_VERSION=9``."""

import pytest

VERSIONS = {"6", "8", "9"}


def deselect_others(config: pytest.Config, items: list[pytest.Item], version: str) -> None:
    """Of tests for several versions leave those for one; empty: all."""
    others = VERSIONS - {version} if version else set()
    dropped = [item for item in items if others & set(_parameters(item))]
    items[:] = [item for item in items if item not in dropped]
    config.hook.pytest_deselected(items=dropped)


def _parameters(item: pytest.Item) -> list[str]:
    call = getattr(item, "callspec", None)
    return [value for value in call.params.values() if isinstance(value, str)] if call is not None else []
