"""Rules about single options: the name, the value, and whether any job reads it."""

import re
from collections.abc import Iterator, Mapping

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.config_check import Severity
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.keys.inline import AUTOMATIC_SWITCHES, INLINE_SWITCHES
from hudi_table_services.options.keys.writing import METADATA_KEY_PREFIX
from hudi_table_services.options.option import AnyOption, Effect
from hudi_table_services.options.registry import (
    ALIASES,
    KNOWN_OPTIONS,
    MISSPELT_RATIO,
    find_option,
    is_listed,
    similar_option,
)
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_LIST = "docs/options.md"
_KEY = re.compile(r"_?hoodie(?:\.\w+)+")


def _named(settings: Settings) -> Iterator[tuple[str, AnyOption | None]]:
    """Options that are settings of Hudi, without metadata for the commit and options of other data sources."""
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
    "no release of Hudi that we know has an option of this name; often it is misspelt. Hudi itself passes over it "
    "without a word, which makes it a warning there",
    source=_LIST,
)
def _unknown_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        if not is_listed(key):
            near = similar_option(key)
            # Services refuse what they do not know of their own family; it may still be a key of Hudi's.
            is_sure = option is None or (
                near is not None and similar_option(key, least=MISSPELT_RATIO) is not None
            )
            yield Problem(
                keys=(key,),
                reason=f"There is no option {key}."
                if is_sure
                else f"{key} is none of the options known here.",
                cure=f"Did you mean {near}?"
                if near
                else "Look for the name in docs/options.md, or leave it out.",
                severity=Severity.ERROR if is_sure and settings.facts.is_native else Severity.WARNING,
            )


@config_rule(
    "two-names",
    Severity.ERROR,
    "two names of one option have different values",
    source="ConfigProperty and its alternatives: one of the two is passed over",
)
def _two_names(settings: Settings) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for key, value in settings.given.items():
        first = seen.setdefault(ALIASES.get(key, key), key)
        if first != key and settings.given[first].strip() != value.strip():
            yield Problem(
                keys=(first, key),
                reason=f"{first} and {key} are names of one option, and say different things.",
                cure="Give one of them.",
            )


@config_rule(
    "bad-value",
    Severity.ERROR,
    "a number or a switch whose text is none",
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
    "Hudi knows the option or its value; jobs of this project refuse it, as it asks for what they do not do",
    source=_LIST,
    engines="native",
)
def _unsupported_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        text = settings.given[key].strip()
        if option is None:
            continue
        if option.effect is Effect.REFUSED:
            yield Problem(keys=(key,), reason=f"{_sentence(option.meaning)}.", cure="Leave it out.")
        elif option.effect is Effect.FIXED and text.lower() != option.default.lower():
            yield Problem(
                keys=(key,),
                reason=f"{_sentence(option.meaning)}: only {option.default} is written.",
                cure=f"Leave it out, or set it to {option.default}; keep writing such tables with Hudi.",
            )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@config_rule(
    "service-not-inline",
    Severity.WARNING,
    "a service that Hudi's writer runs by itself is switched on; jobs of this project run none inline, so nothing "
    "would run it any more",
    source=_LIST,
    engines="native",
)
def _service_not_inline(settings: Settings) -> Iterator[Problem]:
    for key, instead in INLINE_SWITCHES.items():
        if settings.options.get(ALIASES.get(key, key), "").lower() == "true":
            yield Problem(
                keys=(ALIASES.get(key, key),),
                reason="Writes of this project run no services: without a task of its own this one stops.",
                cure=f"Schedule {instead}; leave the switch out of the writes.",
            )


@config_rule(
    "no-service",
    Severity.ADVICE,
    "Hudi's cleaning or archival is switched off; another job has to do it",
    source="HoodieCleanConfig, HoodieArchivalConfig",
    engines="hudi",
)
def _no_service(settings: Settings) -> Iterator[Problem]:
    for key in AUTOMATIC_SWITCHES:
        if settings.is_off(key):
            yield Problem(
                keys=(key,),
                reason="The writer does not do it: files, or instants, pile up until another job does.",
                cure=f"Make sure that a task runs {INLINE_SWITCHES[key]}.",
            )


@config_rule(
    "ignored-option",
    Severity.ADVICE,
    "Hudi knows the option; to jobs of this project it means nothing",
    source=_LIST,
    engines="native",
)
def _ignored_option(settings: Settings) -> Iterator[Problem]:
    for key, option in _named(settings):
        if option is not None and option.effect is Effect.NO_EFFECT:
            yield Problem(keys=(key,), reason=f"No effect: {option.meaning}.", cure="Leave it out.")


@config_rule(
    "refused-by-job",
    Severity.ERROR,
    "a write, clustering, clean or archival of this project would refuse the options, by a reason of its own",
    source=_LIST,
    engines="native",
)
def _refused_by_job(settings: Settings) -> Iterator[Problem]:
    options = _worth_trying(settings)
    reported = set()
    for attempt in (_write, _cluster, _clean, _archive):
        try:
            attempt(options)
        except HudiTableServiceError as error:
            if error.message in reported:
                continue
            reported.add(error.message)
            keys = [key for key in _KEY.findall(error.message) if key in KNOWN_OPTIONS]
            yield Problem(
                keys=tuple(dict.fromkeys(keys)),
                reason=error.message,
                cure=error.hint or "Change one of them, or leave it out.",
            )


def _worth_trying(settings: Settings) -> Mapping[str, str]:
    """Options without a finding of another rule, so that the jobs reach the checks that only they have."""
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


def _clean(options: Mapping[str, str]) -> None:
    resolve_clean_options(CleanRequest(base_path="/", options=options))


def _archive(options: Mapping[str, str]) -> None:
    resolve_archive_options(ArchiveRequest(base_path="/", options=options))


NAME_RULES = (
    _unknown_option,
    _two_names,
    _bad_value,
    _unsupported_option,
    _service_not_inline,
    _no_service,
)
LAST_RULES = (_refused_by_job, _ignored_option)
"""Rules whose findings count only if no other rule names the option."""
