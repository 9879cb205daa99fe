"""Assign sampled call stacks to the steps of a write, by rules for the names of their frames.

A stack is a sequence of frame names. The innermost frame that a rule matches determines the step. For example, the
compression of a Parquet page is part of `Step.COMPRESS`, although the encoder of the file calls the compressor. A stack
without such a frame is part of `Step.OTHER`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Step(str, Enum):
    """A step of a write. The order of the members is the order of the rows in the table."""

    START = "start"
    JVM = "JVM"
    PLAN = "plan"
    DECODE = "decode"
    TRANSFER = "transfer"
    KEYS = "keys"
    ROUTE = "route"
    MERGE = "merge"
    ENCODE = "encode"
    COMPRESS = "compress"
    STORAGE = "storage"
    OTHER = "other"
    WAITING = "waiting"


MEANINGS = {
    Step.START: "loading and compiling code: classes, JIT compiler, generated code, Python imports, start of workers",
    Step.JVM: "Spark's own work and the JVM: scheduling, query plans, garbage collection",
    Step.PLAN: "timeline, file listing, plan, commit",
    Step.DECODE: "reading Parquet files and log files into rows, including decompression",
    Step.TRANSFER: "moving and converting rows: between processes and tasks, Arrow, Avro, shuffles, staged files",
    Step.KEYS: "record keys, partition paths, the other meta columns, bloom filters",
    Step.ROUTE: "finding the file group of each row, and grouping the rows by file group",
    Step.MERGE: "merging incoming rows with stored rows",
    Step.ENCODE: "encoding Parquet pages: dictionaries, statistics, footers",
    Step.COMPRESS: "compressing Parquet pages",
    Step.STORAGE: "calls of the file system",
    Step.OTHER: "stacks that no rule matches",
}
"""Meaning of each step in the table. Samples of `Step.WAITING` are threads that only wait, so they have no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Assigns a frame to a step.

    Attributes:
        frame: regular expression that is searched in the name of the frame.
        under: regular expression that a frame further outwards must match, too; empty if the rule has no such
            condition.
    """

    step: Step
    frame: str
    under: str = ""


class Rules:
    """Rules in tiers. A later tier is used only if no frame of a stack matches a rule of the earlier tiers.

    The first tier contains the rules for the steps of a write. The later tiers contain the rules for code that all
    steps use, such as the collections of Java, so that this code belongs to the step that calls it.

    Args:
        tiers: rules in the order in which they apply: if several rules of a tier match a frame, the first one decides.
    """

    def __init__(self, *tiers: tuple[Rule, ...]) -> None:
        self._tiers = tiers
        self._matching: list[dict[str, tuple[Rule, ...]]] = [{} for _ in tiers]

    def step_of(self, frames: Sequence[str]) -> Step:
        """Return the step of a stack, whose frames are in order from the outermost to the innermost one."""
        for tier in range(len(self._tiers)):
            for position in range(len(frames) - 1, -1, -1):
                for rule in self._matches(tier, frames[position]):
                    if not rule.under or any(re.search(rule.under, frame) for frame in frames[:position]):
                        return rule.step
        return Step.OTHER

    def _matches(self, tier: int, frame: str) -> tuple[Rule, ...]:
        known = self._matching[tier]
        if frame not in known:
            known[frame] = tuple(rule for rule in self._tiers[tier] if re.search(rule.frame, frame))
        return known[frame]
