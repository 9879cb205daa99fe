"""Define how to measure the cost of the metadata table: the variants of each scenario, and ratios between variants."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from bench.figures import Target
from bench.scenarios import SCENARIOS, UPSERT_BY_RECORD_INDEX, Scenario, System

ENABLE = "hoodie.metadata.enable"
INDEX_TYPE = "hoodie.index.type"
_RECORD_INDEX = "GLOBAL_RECORD_LEVEL_INDEX"
_BUILD_RECORD_INDEX = {"hoodie.metadata.global.record.level.index.enable": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A system with options.

    Attributes:
        base: name of the table from which a scenario with `on_base` starts; empty means the table that this variant
            wrote.
    """

    name: str
    title: str
    system: System
    options: Mapping[str, str] = field(default_factory=dict)
    base: str = ""

    @property
    def base_name(self) -> str:
        return self.base or self.name


OURS = Variant(name="ours", title="ours", system=System.OURS, options={ENABLE: "true"})
WITHOUT = Variant(name="without", title="ours without", system=System.OURS, options={ENABLE: "false"})
HUDI = Variant(name="hudi", title="Hudi 1.2.0", system=System.HUDI, options={ENABLE: "true"})


def _with_index(index_type: str) -> Variant:
    return Variant(
        name=f"ours_{index_type.lower()}",
        title=f"ours, {index_type}",
        system=System.OURS,
        options={ENABLE: "true", INDEX_TYPE: index_type},
        base="ours_indexed",
    )


BY_RECORD_INDEX = _with_index("RECORD_INDEX")
BY_OTHER_INDEXES = tuple(map(_with_index, ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "SIMPLE", "BLOOM")))
HUDI_BY_RECORD_INDEX = Variant(
    name="hudi_record_index",
    title="Hudi 1.2.0, RECORD_INDEX",
    system=System.HUDI,
    options={ENABLE: "true", INDEX_TYPE: _RECORD_INDEX, **_BUILD_RECORD_INDEX},
    base="hudi_indexed",
)

Writes = Mapping[str, Sequence[float]]
"""Seconds of each write of one round, by the name of the variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A ratio within one round, and its target.

    Attributes:
        of: calculates the ratio from the seconds of each write of each variant.
        is_of_whole: whether the ratio compares whole scenarios, not single writes.
    """

    name: str
    of: Callable[[Writes], float]
    target: Target | None
    is_of_whole: bool = True

    def is_reached(self, value: float) -> bool | None:
        """Return whether the target is reached; None if there is no target."""
        return None if self.target is None else self.target.is_reached(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario, and the variants that run one after another in every round.

    Attributes:
        prepared: whether the case needs base tables with a record index, instead of the table of the first insert.
    """

    scenario: Scenario
    variants: tuple[Variant, ...]
    figures: tuple[Figure, ...]
    prepared: bool = False

    @property
    def name(self) -> str:
        return self.scenario.name

    def maker_of(self, variant: Variant) -> Variant:
        """Return the variant that creates the table from which another variant starts.

        Real Hudi creates the tables for services, with or without a metadata table.
        """
        if self.scenario.is_service:
            return Variant(
                name=HUDI.name,
                title=HUDI.title,
                system=HUDI.system,
                options={ENABLE: variant.options[ENABLE]},
            )
        return variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One measurement of one variant in one round."""

    case: str
    variant: str
    number: int
    seconds: float
    write_seconds: tuple[float, ...]
    cpu_seconds: float
    peak_memory_bytes: int
    storage_bytes: int
    correct: bool


def figures_of(case: Case, rounds: Sequence[Round]) -> list[tuple[Figure, float]]:
    """Return for each figure the median over all complete rounds; an empty list if no round is complete."""
    by_number: dict[int, dict[str, tuple[float, ...]]] = {}
    for each in rounds:
        if each.case == case.name:
            by_number.setdefault(each.number, {})[each.variant] = each.write_seconds
    names = {variant.name for variant in case.variants}
    complete = [writes for writes in by_number.values() if names <= writes.keys()]
    if not complete:
        return []
    if len(complete[0][OURS.name if OURS.name in names else BY_RECORD_INDEX.name]) > 1:
        complete = [_median_writes(complete)]
    return [(figure, median(figure.of(writes) for writes in complete)) for figure in case.figures]


def cpu_figures_of(case: Case, rounds: Sequence[Round]) -> list[tuple[Figure, float]]:
    """Return the figures of whole scenarios, computed from processor seconds instead of wall-clock seconds."""
    whole = [replace(each, write_seconds=(each.cpu_seconds,)) for each in rounds]
    return figures_of(replace(case, figures=tuple(f for f in case.figures if f.is_of_whole)), whole)


def _median_writes(rounds: Sequence[Writes]) -> Writes:
    """Return the median of each write over all rounds.

    The duration of a single short write varies so much that its ratios would say nothing about the targets.
    """
    return {
        name: tuple(median(seconds) for seconds in zip(*(r[name] for r in rounds), strict=True))
        for name in rounds[0]
    }


def _speed(ours: Variant, hudi: Variant) -> Callable[[Writes], float]:
    return lambda writes: sum(writes[hudi.name]) / sum(writes[ours.name])


def _cost(writes: Writes) -> float:
    return sum(writes[OURS.name]) / sum(writes[WITHOUT.name])


def _worst_commit(writes: Writes) -> float:
    return max(a / b for a, b in zip(writes[OURS.name], writes[WITHOUT.name], strict=True))


def _growth(variant: Variant) -> Callable[[Writes], float]:
    return lambda writes: writes[variant.name][-1] / writes[variant.name][1]


def _against_best_index(writes: Writes) -> float:
    best = min(sum(writes[variant.name]) for variant in BY_OTHER_INDEXES)
    return sum(writes[BY_RECORD_INDEX.name]) / best


def _faster(target: float, ours: Variant = OURS, hudi: Variant = HUDI) -> Figure:
    return Figure(name="Hudi's time / ours", of=_speed(ours, hudi), target=Target(target, at_least=True))


_COST = Figure(name="time with metadata table / without", of=_cost, target=Target(1.08))
_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
_THREE = (OURS, WITHOUT, HUDI)

CASES = (
    Case(scenario=_BY_NAME["first_insert"], variants=_THREE, figures=(_faster(4.0), _COST)),
    Case(scenario=_BY_NAME["upsert_changed_and_new"], variants=_THREE, figures=(_faster(7.0), _COST)),
    Case(
        scenario=_BY_NAME["twenty_inserts"],
        variants=_THREE,
        figures=(
            _faster(4.0),
            Figure(
                name="slowest commit / the same without",
                of=_worst_commit,
                target=Target(1.3),
                is_of_whole=False,
            ),
            Figure(
                name="twentieth commit / second commit",
                of=_growth(OURS),
                target=Target(1.2),
                is_of_whole=False,
            ),
            Figure(
                name="the same without metadata table", of=_growth(WITHOUT), target=None, is_of_whole=False
            ),
        ),
    ),
    Case(
        scenario=UPSERT_BY_RECORD_INDEX,
        variants=(BY_RECORD_INDEX, *BY_OTHER_INDEXES, HUDI_BY_RECORD_INDEX),
        figures=(
            _faster(5.0, BY_RECORD_INDEX, HUDI_BY_RECORD_INDEX),
            Figure(name="time / time of the best other index", of=_against_best_index, target=Target(1.2)),
        ),
        prepared=True,
    ),
    Case(scenario=_BY_NAME["clean"], variants=_THREE, figures=(_faster(10.0),)),
)
