"""All declared hoodie.* keys, with functions that find a key by its name."""

import difflib

from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.options.keys.archival import ARCHIVE_OPTIONS
from hudi_table_services.options.keys.catalog import CATALOG_OPTIONS
from hudi_table_services.options.keys.cleaning import CLEAN_OPTIONS
from hudi_table_services.options.keys.clustering import CLUSTERING_OPTIONS
from hudi_table_services.options.keys.compaction import COMPACTION_OPTIONS
from hudi_table_services.options.keys.empty_commits import EMPTY_COMMIT_OPTIONS
from hudi_table_services.options.keys.foreign import FOREIGN_OPTIONS
from hudi_table_services.options.keys.key_generation import KEY_GENERATION_OPTIONS
from hudi_table_services.options.keys.metadata_index import METADATA_INDEX_OPTIONS
from hudi_table_services.options.keys.metadata_table import METADATA_TABLE_OPTIONS
from hudi_table_services.options.keys.reading import READ_OPTIONS
from hudi_table_services.options.keys.writing import WRITE_OPTIONS
from hudi_table_services.options.option import AnyOption, OptionGroup

OPTION_GROUPS: dict[str, tuple[AnyOption, ...]] = {
    **WRITE_OPTIONS,
    **KEY_GENERATION_OPTIONS,
    **CLUSTERING_OPTIONS,
    **COMPACTION_OPTIONS,
    **CLEAN_OPTIONS,
    **ARCHIVE_OPTIONS,
    **METADATA_TABLE_OPTIONS,
    **METADATA_INDEX_OPTIONS,
    **EMPTY_COMMIT_OPTIONS,
    **CATALOG_OPTIONS,
    **READ_OPTIONS,
    **FOREIGN_OPTIONS,
}
"""All known keys by heading, in the order of the documentation."""

_ALL = tuple(option for group in OPTION_GROUPS.values() for option in group)
_FAMILIES = {option.key.removesuffix("*"): option for option in _ALL if option.key.endswith("*")}

KNOWN_OPTIONS: dict[str, AnyOption] = {
    name: option for option in _ALL if not option.key.endswith("*") for name in (option.key, *option.aliases)
}
"""Maps each key or alias to its declaration. Prefixes (keys that end with ``*``) are not included."""

_BY_LOWER_CASE = {name.lower(): name for name in KNOWN_OPTIONS}

ALIASES: dict[str, str] = {alias: option.key for option in _ALL for alias in option.aliases}
"""Maps each alias to its key."""

MISSPELT_RATIO = 0.92
"""Minimum similarity to a known key at which an unknown key counts as a misspelling."""

_OWN_FAMILIES = {
    OptionGroup.CLUSTERING: ("hoodie.clustering.*",),
    OptionGroup.COMPACTION: ("hoodie.compact.*", "hoodie.compaction.*"),
    OptionGroup.CLEANING: ("hoodie.clean.*", "hoodie.cleaner.*"),
    OptionGroup.ARCHIVAL: ("hoodie.archive.*",),
    OptionGroup.TIMELINE: ("hoodie.clean.*", "hoodie.cleaner.*"),
    OptionGroup.CATALOG: ("hoodie.datasource.hive_sync.*",),
}
"""Maps each group of jobs to prefixes. The registry lists all keys with such a prefix, and the jobs reject all other
keys with the prefix as unknown.

Jobs of the group TIMELINE read no key with these prefixes, but nevertheless reject unknown keys with these prefixes.
"""


def find_option(key: str) -> AnyOption | None:
    """Find the declaration of the key, or of its longest declared prefix; None if the key is unknown or misspelt."""
    if (option := KNOWN_OPTIONS.get(key)) is not None:
        return option
    prefixes = [prefix for prefix in _FAMILIES if key.startswith(prefix)]
    # A misspelt key may match a prefix, e.g. `hoodie.metadata.enabled` instead of `hoodie.metadata.enable`.
    if not prefixes or similar_option(key, least=MISSPELT_RATIO):
        return None
    return _FAMILIES[max(prefixes, key=len)]


def similar_option(key: str, *, least: float = 0.7) -> str | None:
    """Find the known key that differs only in case, or else the most similar key; None if no known key is similar."""
    if (same := _BY_LOWER_CASE.get(key.lower())) is not None:
        return same
    close = difflib.get_close_matches(key, KNOWN_OPTIONS, n=1, cutoff=least)
    return close[0] if close else None


def advice_on_key(key: str) -> str:
    """Return a sentence with the known key that an unknown key probably means; an empty string if none is similar."""
    close = similar_option(key)
    return did_you_mean(key, (close,)) if close else ""


def is_listed(key: str, group: OptionGroup | None = None) -> bool:
    """Whether a key is known. If a group of jobs lists the keys of a prefix individually, only listed keys are known.

    Args:
        group: the group of jobs that reads the key; None means any group.
    """
    found = find_option(key)
    groups = _OWN_FAMILIES if group is None else (group,)
    return found is not None and not any(found.key in _OWN_FAMILIES.get(each, ()) for each in groups)
