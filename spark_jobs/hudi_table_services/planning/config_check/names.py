"""Rules about single options: their names, their values, and whether any job reads them."""

import re
from collections.abc import Callable, Iterator, Mapping

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.compaction.compaction import CompactionRequest
from hudi_table_services.contract.config_check import Severity
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.options.keys.inline import AUTOMATIC_SWITCHES, CATALOG_SWITCHES, INLINE_SWITCHES
from hudi_table_services.options.keys.writing import METADATA_ENABLE, METADATA_KEY_PREFIX
from hudi_table_services.options.metadata_table import resolve_metadata_table_options
from hudi_table_services.options.option import AnyOption, Effect, OptionGroup
from hudi_table_services.options.registry import (
    ALIASES,
    KNOWN_OPTIONS,
    advice_on_key,
    find_option,
    is_listed,
)
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_LIST = "docs/options.md"
_KEY = re.compile(r"_?hoodie(?:\.\w+)+")


def _named(settings: Settings) -> Iterator[tuple[str, AnyOption | None]]:
    """Yield the options to check, each with its declaration; None for an option that is not declared.

    Options that add metadata to a commit are left out. If only Hudi's jobs read the options, options that do not begin
    with ``hoodie.`` are left out, too, because they may belong to other data sources.
    """
    prefix = settings.text(METADATA_KEY_PREFIX.key)
    for key in sorted(settings.given):
        if key not in KNOWN_OPTIONS and prefix and key.startswith(prefix):
            continue
        if not key.startswith(("hoodie.", "_hoodie.")) and not settings.facts.is_native:
            continue
        yield key, find_option(key)


@config_rule(
    "unknown-option",
    Severity.ERROR,
    "no known release of Hudi has an option of this name; often the name is misspelt. The finding is a "
    "warning if only Hudi's jobs read the options, because Hudi ignores unknown options without a message",
    source=_LIST,
)
def _unknown_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        if not is_listed(key):
            # Under the prefix of a table service, Hudi may have a key that docs/options.md does not list.
            is_sure = option is None
            yield Problem(
                keys=(key,),
                reason=f"There is no option {key}." if is_sure else f"docs/options.md does not list {key}.",
                cure=advice_on_key(key) or "Look for the name in docs/options.md, or leave it out.",
                severity=Severity.ERROR if is_sure and settings.facts.is_native else Severity.WARNING,
            )


@config_rule(
    "two-names",
    Severity.ERROR,
    "two names of one option have different values",
    source="ConfigProperty and its alternatives: Hudi ignores one of the two names",
)
def _two_names(settings: Settings) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for key, value in settings.given.items():
        first = seen.setdefault(ALIASES.get(key, key), key)
        if first != key and settings.given[first].strip() != value.strip():
            yield Problem(
                keys=(first, key),
                reason=f"{first} and {key} are two names of one option, and their values differ.",
                cure="Set only one of the two names.",
            )


@config_rule(
    "bad-value",
    Severity.ERROR,
    "the value has the wrong type: the option requires a whole number, or `true` or `false`",
    source=_LIST,
)
def _bad_value(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        text = settings.given[key].strip()
        if option is None or option.effect is not Effect.HONOURED or not text:
            continue
        if option.is_flag and text.lower() not in ("true", "false"):
            yield Problem(
                keys=(key,), reason=f"{text} is neither true nor false.", cure="Write true or false."
            )
        elif option.is_whole_number and not re.fullmatch(r"[+-]?\d+", text):
            yield Problem(
                keys=(key,),
                reason=f"{text} is not a whole number.",
                cure=f"Write digits only, without a unit; the default is {option.default}.",
            )


@config_rule(
    "unsupported-option",
    Severity.ERROR,
    "jobs of this project reject this option or value of Hudi, because they do not have the feature",
    source=_LIST,
    engines="native",
)
def _unsupported_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        text = settings.given[key].strip()
        if option is None:
            continue
        if option.effect is Effect.REFUSED:
            yield Problem(keys=(key,), reason=f"{_sentence(option.meaning)}.", cure="Leave the option out.")
        elif option.effect is Effect.FIXED and text.lower() != option.default.lower():
            yield Problem(
                keys=(key,),
                reason=f"{_sentence(option.meaning)}: jobs of this project support only {option.default}.",
                cure=f"Leave the option out, or set it to {option.default}. If the table needs another value, keep "
                "writing the table with Hudi.",
            )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@config_rule(
    "service-not-inline",
    Severity.WARNING,
    "the option switches on a table service inside Hudi's writer, but writes of this project run no table services, so "
    "the service would never run",
    source=_LIST,
    engines="native",
)
def _service_not_inline(settings: Settings) -> Iterator[Problem]:
    for key, instead in INLINE_SWITCHES.items():
        if settings.options.get(ALIASES.get(key, key), "").lower() == "true":
            yield Problem(
                keys=(ALIASES.get(key, key),),
                reason="Writes of this project run no table services, so this service runs only in a task of its own.",
                cure=f"Schedule {instead}, and leave this option out of the writes.",
            )


@config_rule(
    "no-service",
    Severity.ADVICE,
    "Hudi's cleaning or archival is switched off, so another job has to clean or archive the table",
    source="HoodieCleanConfig, HoodieArchivalConfig",
    engines="hudi",
)
def _no_service(settings: Settings) -> Iterator[Problem]:
    for key in AUTOMATIC_SWITCHES:
        if settings.is_off(key):
            yield Problem(
                keys=(key,),
                reason="The writer does not run this service: files or instants accumulate until another job runs it.",
                cure=f"Make sure that a task runs {INLINE_SWITCHES[key]}.",
            )


@config_rule(
    "ignored-option",
    Severity.ADVICE,
    "Hudi has this option, but it has no effect in jobs of this project",
    source=_LIST,
    engines="native",
)
def _ignored_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        if option is not None and option.effect is Effect.NO_EFFECT:
            yield Problem(keys=(key,), reason=f"No effect: {option.meaning}.", cure="Leave the option out.")


@config_rule(
    "refused-by-job",
    Severity.ERROR,
    "a job of this project would reject the options for a reason that no other rule checks",
    source=_LIST,
    engines="native",
)
def _refused_by_job(settings: Settings) -> Iterator[Problem]:
    options = _without_reported_errors(settings)
    reported = set()
    for check in CHECKS_OF_JOBS.values():
        try:
            check(options)
        except HudiTableServiceError as error:
            if error.message in reported:
                continue
            reported.add(error.message)
            keys = [key for key in _KEY.findall(error.message) if key in KNOWN_OPTIONS]
            yield Problem(
                keys=tuple(dict.fromkeys(keys)),
                reason=error.message,
                cure=error.hint or "Change or remove one of these options.",
            )


def _without_reported_errors(settings: Settings) -> Mapping[str, str]:
    """Leave out options with errors that other rules report, so that the jobs' checks do not stop at those errors."""
    reported = {
        key
        for rule in (_unknown_option, _two_names, _bad_value, _unsupported_option)
        for problem in rule.check(settings)
        for key in problem.keys
    }
    return {key: value for key, value in settings.given.items() if key not in reported}


def _write(options: Mapping[str, str]) -> None:
    resolve_options(UpsertRequest(base_path="/", options=options))


def _cluster(options: Mapping[str, str]) -> None:
    check_clustering_options(
        resolve_clustering_options(ClusteringRequest(base_path="/", options=options)).plan
    )


def _compact(options: Mapping[str, str]) -> None:
    resolve_compaction_options(CompactionRequest(base_path="/", options=options))


def _clean(options: Mapping[str, str]) -> None:
    resolve_clean_options(CleanRequest(base_path="/", options=options))


def _archive(options: Mapping[str, str]) -> None:
    resolve_archive_options(ArchiveRequest(base_path="/", options=options))


def _rebuild_metadata_table(options: Mapping[str, str]) -> None:
    # The options possibly belong to a write. A write accepts this key with the value false, but a rebuild refuses it.
    given = {key: value for key, value in options.items() if key != METADATA_ENABLE.key}
    resolve_metadata_table_options(RebuildMetadataTableRequest(base_path="/", options=given))


def _sync_catalog(options: Mapping[str, str]) -> None:
    # If no switch is on, the options possibly belong to a write that never syncs a catalog.
    if any(options.get(switch, "").strip().lower() == "true" for switch in CATALOG_SWITCHES):
        resolve_catalog_options(SyncCatalogRequest(base_path="/", options=options))


CHECKS_OF_JOBS: Mapping[OptionGroup, Callable[[Mapping[str, str]], None]] = {
    OptionGroup.WRITES: _write,
    OptionGroup.CLUSTERING: _cluster,
    OptionGroup.COMPACTION: _compact,
    OptionGroup.CLEANING: _clean,
    OptionGroup.ARCHIVAL: _archive,
    OptionGroup.METADATA_TABLE: _rebuild_metadata_table,
    OptionGroup.CATALOG: _sync_catalog,
}
"""Maps each group of options to the check that a job makes before it reads a table."""

NAME_RULES = (
    _unknown_option,
    _two_names,
    _bad_value,
    _unsupported_option,
    _service_not_inline,
    _no_service,
)
LAST_RULES = (_refused_by_job, _ignored_option)
"""Rules that do not report a problem if a finding of at least the same severity names all options of the problem."""
