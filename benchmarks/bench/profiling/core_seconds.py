"""Distribute the processor time of a scenario over its steps, in proportion to the samples of each process."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from bench.profiling.processes import Role, TreeTimes
from bench.profiling.stacks import Stack
from bench.profiling.steps import Step


@dataclass(frozen=True, slots=True)
class WeightedStack:
    """A stack of a thread that does not wait, with its processor seconds."""

    role: Role
    frames: tuple[str, ...]
    step: Step
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The processor time of one system in one scenario.

    Attributes:
        cpu_seconds: processor seconds of the timed part, measured by the operating system.
        by_step: processor seconds of each step, without `Step.WAITING`. Their sum plus `unsampled_seconds` is
            `cpu_seconds`.
        by_role: processor seconds of each kind of process.
        unsampled_seconds: processor seconds of processes without any sample, and of hidden threads.
        samples: number of samples of running threads, by kind of process.
        waiting_samples: number of samples of threads that only waited.
        wall_seconds: duration of the timed part. The samplers slow the processes down.
        correct: whether the table had the expected rows.
    """

    scenario: str
    system: str
    cpu_seconds: float
    by_step: dict[str, float]
    by_role: dict[str, float]
    unsampled_seconds: float
    samples: dict[str, int]
    waiting_samples: int
    wall_seconds: float
    correct: bool

    @property
    def sampled_share(self) -> float:
        """Share of the processor seconds that the samples divide among the steps, from 0 to 1."""
        return 1 - self.unsampled_seconds / self.cpu_seconds if self.cpu_seconds else 0.0

    def to_document(self) -> dict[str, object]:
        return asdict(self)


def weigh(stacks: Sequence[Stack], times: TreeTimes) -> list[WeightedStack]:
    """Give each stack its share of the processor time of its process.

    py-spy samples threads that can run, even while they wait for a busy processor. Therefore only the proportions of
    the samples are used, and the processor time comes from the operating system.
    """
    working: Counter[int] = Counter()
    for stack in stacks:
        if stack.step is not Step.WAITING:
            working[stack.pid] += stack.samples
    processes = {each.pid: each for each in times.processes}
    return [
        WeightedStack(
            process.role,
            stack.frames,
            stack.step,
            (process.cpu_seconds - process.hidden_seconds) * stack.samples / working[stack.pid],
        )
        for stack in stacks
        if stack.step is not Step.WAITING and (process := processes.get(stack.pid)) is not None
    ]


def profile_of(
    scenario: str,
    system: str,
    stacks: Sequence[Stack],
    times: TreeTimes,
    *,
    wall_seconds: float,
    correct: bool,
) -> Profile:
    """Add up the processor seconds of the steps."""
    weighted = weigh(stacks, times)
    by_role: defaultdict[str, float] = defaultdict(float)
    for process in times.processes:
        by_role[process.role.value] += process.cpu_seconds
    total = sum(by_role.values()) + times.ended_cpu_seconds
    roles = {process.pid: process.role.value for process in times.processes}
    samples: Counter[str] = Counter()
    for stack in stacks:
        if stack.step is not Step.WAITING and stack.pid in roles:
            samples[roles[stack.pid]] += stack.samples
    return Profile(
        scenario=scenario,
        system=system,
        cpu_seconds=total,
        by_step=_by_step(weighted),
        by_role=dict(by_role),
        unsampled_seconds=max(0.0, total - sum(each.cpu_seconds for each in weighted)),
        samples=dict(samples),
        waiting_samples=sum(stack.samples for stack in stacks if stack.step is Step.WAITING),
        wall_seconds=wall_seconds,
        correct=correct,
    )


def _by_step(stacks: Iterable[WeightedStack]) -> dict[str, float]:
    found = {step.value: 0.0 for step in Step if step is not Step.WAITING}
    for stack in stacks:
        found[stack.step.value] += stack.cpu_seconds
    return found


def collapsed(stacks: Iterable[WeightedStack]) -> str:
    """Return the stacks as lines for other viewers of flame graphs: frames separated by ``;``, then milliseconds."""
    found: Counter[tuple[str, ...]] = Counter()
    for stack in stacks:
        found[(stack.role.value, *stack.frames)] += round(stack.cpu_seconds * 1000)
    return "".join(f"{';'.join(frames)} {count}\n" for frames, count in sorted(found.items()) if count)
