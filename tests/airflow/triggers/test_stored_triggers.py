"""This release reads the triggers that older releases stored in Airflow's database.

`stored_triggers.json` contains the triggers of each release; add entries, but never change them. These tests fail if
an argument is renamed or removed, or if a new argument has no default. With any of these changes, every task that is
deferred during an upgrade would fail.
"""

import asyncio
import importlib
import inspect
import json
import pkgutil
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from airflow.triggers.base import BaseTrigger

from airflow_hudi_provider import triggers
from airflow_hudi_provider.instant_query import InstantQuery
from airflow_hudi_provider.triggers.instant import query_from_json
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

STORED = json.loads((Path(__file__).parent / "stored_triggers.json").read_text())


def kind_of(class_path: str) -> type[BaseTrigger]:
    module, _, name = class_path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def read(stored: dict[str, Any], **changes: Any) -> BaseTrigger:
    """Create the trigger as the triggerer does."""
    return kind_of(stored["classpath"])(**{**stored["kwargs"], **changes})


def our_triggers() -> set[str]:
    """Class paths of all triggers that can be stored."""
    modules = [
        importlib.import_module(f"{triggers.__name__}.{found.name}")
        for found in pkgutil.iter_modules(triggers.__path__)
    ]
    return {
        f"{module.__name__}.{kind.__qualname__}"
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, BaseTrigger)
        and not inspect.isabstract(kind)
        and kind.__module__ == module.__name__
    }


def test_every_trigger_is_in_the_file() -> None:
    assert {each["classpath"] for each in STORED} == our_triggers()


def name_of(stored: dict[str, Any]) -> str:
    return f"{stored['release']} {stored['classpath'].split('.')[-1]}"


@pytest.mark.parametrize("stored", STORED, ids=name_of)
def test_a_trigger_of_an_older_release_keeps_its_meaning(stored: dict[str, Any]) -> None:
    class_path, now = read(stored).serialize()
    assert class_path == stored["classpath"]
    assert {key: now[key] for key in stored["kwargs"]} == stored["kwargs"]


@pytest.mark.parametrize("class_path", sorted(our_triggers()))
def test_the_newest_entry_has_every_current_argument(class_path: str) -> None:
    """Without the newest arguments, the file would not protect the triggers that this release stores."""
    newest = [each for each in STORED if each["classpath"] == class_path][-1]
    assert set(read(newest).serialize()[1]) == set(newest["kwargs"])


@pytest.mark.parametrize("stored", STORED, ids=name_of)
def test_an_argument_of_a_newer_release_is_refused_by_name(stored: dict[str, Any]) -> None:
    """After a downgrade, an unknown argument may be a filter; a trigger that ignored it could fire too early."""
    with pytest.raises(TypeError, match="only_on_sundays"):
        read(stored, only_on_sundays=True)


def test_a_query_may_lack_fields_but_not_have_unknown_ones() -> None:
    assert query_from_json({}) == InstantQuery()
    with pytest.raises(TypeError, match="only_on_sundays"):
        query_from_json({"only_on_sundays": True})


def test_the_newest_stored_query_has_every_field() -> None:
    queries = [each["kwargs"]["query"] for each in STORED if "query" in each["kwargs"]]
    assert set(queries[-1]) == set(InstantQuery.__dataclass_fields__)


def test_an_unknown_field_of_a_query_ends_the_wait_with_its_name(tmp_path: Path) -> None:
    """The trigger must not poll for ever. After the error, Airflow retries the task, which stores a new trigger."""
    SmallTable(LocalStorage(str(tmp_path / "t"))).commit(FileGroupId("city=a", "a-0"))
    stored = next(each for each in STORED if "query" in each["kwargs"])
    changes = {"base_path": str(tmp_path / "t"), "hudi_conn_id": None, "storage_conn_id": None}
    trigger = read(stored, query={"only_on_sundays": True}, **changes)

    async def run() -> None:
        async with aclosing(trigger.run()) as events:  # type: ignore[type-var]
            await asyncio.wait_for(anext(events), 10)

    with pytest.raises(TypeError, match="only_on_sundays"):
        asyncio.run(run())
