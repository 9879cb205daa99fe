"""Format the core-seconds of the steps as a Markdown table, for the terminal and for the page."""

from collections.abc import Iterator, Sequence

from bench.profiling.core_seconds import Profile
from bench.profiling.steps import Step

_NAMES = {"ours": "this engine", "hudi": "Hudi 1.2.0"}


def step_table(profiles: Sequence[Profile]) -> str:
    """Return the table of one scenario, with the core-seconds and the share of each system."""
    return "\n".join(_lines(profiles)) + "\n"


def system_name(system: str) -> str:
    return _NAMES.get(system, system)


def _lines(profiles: Sequence[Profile]) -> Iterator[str]:
    names = [system_name(profile.system) for profile in profiles]
    yield "| step |" + "".join(f" {name}: core-seconds | share |" for name in names)
    yield "|---|" + "--:|--:|" * len(profiles)
    for step in Step:
        if step is not Step.WAITING:
            figures = (profile.by_step[step.value] for profile in profiles)
            yield _line(step.value, profiles, figures)
    yield _line("not sampled", profiles, (profile.unsampled_seconds for profile in profiles))
    yield _line("**all steps**", profiles, (profile.cpu_seconds for profile in profiles))


def _line(name: str, profiles: Sequence[Profile], figures: Iterator[float]) -> str:
    cells = (
        f" {seconds:.1f} | {seconds / profile.cpu_seconds:.0%} |" if profile.cpu_seconds else " 0.0 | 0% |"
        for profile, seconds in zip(profiles, figures, strict=True)
    )
    return f"| {name} |{''.join(cells)}"
