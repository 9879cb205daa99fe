"""Every option and check of a service is in the lists that other code iterates over."""

import importlib
import pkgutil

from hudi_table_services.options import keys
from hudi_table_services.options.option import FILE_SERVICES, Option, OptionGroup
from hudi_table_services.options.registry import OPTION_GROUPS
from hudi_table_services.planning.config_check.names import CHECKS_OF_JOBS


def test_every_declared_option_is_in_a_group() -> None:
    modules = [
        importlib.import_module(f"{keys.__name__}.{found.name}")
        for found in pkgutil.iter_modules(keys.__path__)
    ]
    declared = {
        value.key for module in modules for value in vars(module).values() if isinstance(value, Option)
    }
    assert declared
    assert declared <= {option.key for group in OPTION_GROUPS.values() for option in group}


def test_the_configuration_check_runs_the_checks_of_every_service_that_writes_or_deletes_files() -> None:
    assert set(CHECKS_OF_JOBS) == {*FILE_SERVICES, OptionGroup.METADATA_TABLE, OptionGroup.CATALOG}
