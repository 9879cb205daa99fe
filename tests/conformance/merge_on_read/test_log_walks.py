"""Real Hudi and the engine take random turns on one merge-on-read table. After each turn, all readers agree.

A turn writes, deletes, schedules or executes a compaction (each project also executes plans of the other one),
clusters, cleans or rolls back. Readers: Hudi's snapshot, read-optimised and incremental queries, the reader of the
engine, and hudi-rs.
"""

from pathlib import Path

import pytest

from judges.merge_on_read.log_walk import LogWalk
from judges.oracle import V6_OLD, V8, V9, Oracle
from support.depth import by_depth, cases

TURNS = by_depth(8, 40)
WALKS = [(oracle, seed) for oracle in (V6_OLD, V8, V9) for seed in (0, 1)]
SAMPLED = [(V6_OLD, 0), (V9, 1)]


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("walked", cases(WALKS, SAMPLED, lambda case: f"{case[0]}-seed-{case[1]}"))
def test_all_readers_agree_after_each_turn(hudi, tmp_path: Path, walked: tuple[Oracle, int]) -> None:
    oracle, seed = walked
    walk = LogWalk(hudi(oracle.release), tmp_path / "t", oracle, seed=seed)
    try:
        walk.begin()
        walk.check()
        for _ in range(TURNS):
            walk.turn()
            walk.check()
    except BaseException as error:
        error.add_note(f"the walk: {walk}")
        raise
