"""Every Hudi key this release knows, to look up by name."""

import difflib

from hudi_table_services.options.keys.archival import ARCHIVE_OPTIONS
from hudi_table_services.options.keys.cleaning import CLEAN_OPTIONS
from hudi_table_services.options.keys.clustering import CLUSTERING_OPTIONS
from hudi_table_services.options.keys.foreign import FOREIGN_OPTIONS
from hudi_table_services.options.keys.writing import WRITE_OPTIONS
from hudi_table_services.options.option import KnownOption

OPTION_GROUPS: dict[str, tuple[KnownOption, ...]] = {
    **WRITE_OPTIONS,
    **CLUSTERING_OPTIONS,
    **CLEAN_OPTIONS,
    **ARCHIVE_OPTIONS,
    **FOREIGN_OPTIONS,
}
"""All known keys by heading, in the order of the documentation."""

_ALL = tuple(option for group in OPTION_GROUPS.values() for option in group)
_FAMILIES = {option.key.removesuffix("*"): option for option in _ALL if option.key.endswith("*")}

KNOWN_OPTIONS: dict[str, KnownOption] = {
    name: option for option in _ALL if not option.key.endswith("*") for name in (option.key, *option.aliases)
}
"""Keys listed one by one, under every name."""

ALIASES: dict[str, str] = {alias: option.key for option in _ALL for alias in option.aliases}
"""Other name → the key it stands for."""

_MISSPELT_RATIO = 0.92


def find_option(key: str) -> KnownOption | None:
    """The key itself, else the longest prefix it falls under; None: unknown, or a misspelt key of the list."""
    if (option := KNOWN_OPTIONS.get(key)) is not None:
        return option
    prefixes = [prefix for prefix in _FAMILIES if key.startswith(prefix)]
    # `hoodie.metadata.enabled` is a slip of the pen, not one more key of the metadata table.
    if not prefixes or similar_option(key, least=_MISSPELT_RATIO):
        return None
    return _FAMILIES[max(prefixes, key=len)]


def similar_option(key: str, *, least: float = 0.7) -> str | None:
    """The known key that looks most like this one; None: none does."""
    close = difflib.get_close_matches(key, KNOWN_OPTIONS, n=1, cutoff=least)
    return close[0] if close else None
