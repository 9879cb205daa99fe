"""Rollback, restore, savepoints and repair have only the options of the lock and of the metadata table."""

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.timeline_only import ServiceOptions, resolve_service_options
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.services.service import Script

SCRIPTS = [s for each in SERVICES if each.name in ("recovery", "savepoints", "orphans") for s in each.scripts]
GIVEN = {
    "restore.py": ["--savepoint=20260102030405006"],
    "rollback.py": ["--all-failed"],
    "delete_savepoint.py": ["--instant=20260102030405006"],
}


def resolve(**options: str) -> ServiceOptions:
    keys = {key.replace("_", "."): value for key, value in options.items()}
    return resolve_service_options(RollbackRequest(base_path="/t", all_failed=True, options=keys))


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ("24", ""),
        (
            "banana",
            " Its value is invalid, too: hoodie.clean.hours.retained=banana is not a whole number.",
        ),
    ],
)
def test_the_warning_about_an_option_of_cleaning_says_if_its_value_is_invalid(value: str, more: str) -> None:
    resolved = resolve(hoodie_clean_hours_retained=value)
    assert resolved.warnings == (
        f"hoodie.clean.hours.retained has no effect here: it is for cleaning.{more}",
    )


@pytest.mark.parametrize(
    "key",
    ["hoodie.keep.min.commits", "hoodie.parquet.block.size", "hoodie.clustering.plan.strategy.sort.columns"],
)
def test_an_option_of_another_service_gives_a_warning(key: str) -> None:
    (warning,) = resolve_service_options(
        RollbackRequest(base_path="/t", all_failed=True, options={key: "1"})
    ).warnings
    assert warning.startswith(f"{key} has no effect here: it is for ")


def test_options_of_the_lock_and_the_metadata_table_give_no_warning() -> None:
    options = {
        "hoodie.write.lock.num_retries": "3",
        "hoodie.metadata.enable": "false",
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    }
    resolved = resolve_service_options(RollbackRequest(base_path="/t", all_failed=True, options=options))
    assert (resolved.lock.retries, resolved.metadata.enable, resolved.warnings) == (3, False, ())


@pytest.mark.parametrize("family", ["hoodie.clean", "hoodie.cleaner"])
def test_an_unknown_key_of_cleaning_is_an_error(family: str) -> None:
    request = RollbackRequest(base_path="/t", all_failed=True, options={f"{family}.retention": "x"})
    with pytest.raises(InvalidRequestError, match=rf"Unknown option {family}\.retention\."):
        resolve_service_options(request)


def test_a_key_of_cleaning_that_only_hudi_reads_gives_a_warning() -> None:
    resolved = resolve(hoodie_cleaner_delete_bootstrap_base_file="true")
    assert resolved.warnings == (
        "hoodie.cleaner.delete.bootstrap.base.file has no effect here: jobs reject bootstrapped tables.",
    )


@pytest.mark.parametrize("each", SCRIPTS, ids=lambda each: each.file_name)
def test_an_unknown_key_is_an_error_with_the_nearest_known_key(each: Script) -> None:  # type: ignore[type-arg]
    flags = ["--base-path=/t", *GIVEN.get(each.file_name, []), "--option=hoodie.write.lock.num_retrys=1"]
    request = each.parse(flags).request
    assert request is not None
    with pytest.raises(InvalidRequestError, match=r"Did you mean hoodie\.write\.lock\.num_retries\?"):
        each.check(request)
