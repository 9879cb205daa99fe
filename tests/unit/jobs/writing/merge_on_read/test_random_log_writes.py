"""Random writes to merge-on-read tables. After each write, hudi-rs reads exactly the rows of a model.

The model is a dictionary. Ordering values grow, so that a delete and a later insert of the same key have the same
result in a log file and in a base file. Late updates have smaller ordering values and must lose.
"""

import random
from pathlib import Path

import pytest

from support.depth import by_depth, cases
from support.spark.log_tables import LogTable, Row, new_log_table

TURNS = by_depth(12, 60)
KEYS = [f"k{i:02}" for i in range(24)]
OPTIONS = [
    {},
    {"hoodie.logfile.data.block.format": "parquet"},
    {"hoodie.index.type": "BLOOM"},
    {"hoodie.parquet.small.file.limit": "0"},
    {"hoodie.logfile.data.block.max.size": "1024"},
]


class Model:
    """The rows that a table must have, by key and partition."""

    def __init__(self, table: LogTable, is_event_time: bool) -> None:
        self.table = table
        self.is_event_time = is_event_time
        self.rows: dict[tuple[str, str], Row] = {}
        self.time = 10

    def turn(self, chosen: random.Random) -> str:
        self.time += 1
        action = chosen.choice(
            ["upsert"] * 5 + ["delete", "insert", "bulk_insert", "insert_overwrite", "late", "mark"]
        )
        options = chosen.choice(OPTIONS)
        keys = chosen.sample(KEYS, chosen.randint(1, 8))
        places = [(key, "ab"[KEYS.index(key) % 2]) for key in keys]
        if action in ("insert", "bulk_insert"):
            places = [place for place in places if place not in self.rows] or [(f"n{self.time}", "a")]
        rows: list[Row] = [(k, self.time, p, f"{action}-{self.time}", False) for k, p in places]
        if action == "late":
            return self._late(rows, options)
        if action == "mark":
            return self._mark(rows, options, chosen)
        self.table.write(rows, "upsert" if action == "late" else action, options=options)
        if action == "delete":
            for place in places:
                self.rows.pop(place, None)
            return action
        if action == "insert_overwrite":
            replaced = {p for _, p in places}
            self.rows = {place: row for place, row in self.rows.items() if place[1] not in replaced}
        self.rows.update({(row[0], row[2]): row for row in rows})
        return f"{action} {options}"

    def _late(self, rows: list[Row], options: dict[str, str]) -> str:
        """Write rows with a smaller ordering value than any stored row. They win only in commit-time order."""
        stored = [row for row in rows if (row[0], row[2]) in self.rows]
        late: list[Row] = [(k, 1, p, v, d) for k, _, p, v, d in stored]
        if late:
            self.table.write(late, options=options)
        if not self.is_event_time:
            self.rows.update({(row[0], row[2]): row for row in late})
        return f"late {options}"

    def _mark(self, rows: list[Row], options: dict[str, str], chosen: random.Random) -> str:
        """Write rows of which some are marked as deletes, with one duplicate before each deleted row."""
        marked: list[Row] = []
        for k, ts, p, v, _ in rows:
            if chosen.random() < 0.5:
                marked += [(k, ts, p, "earlier", False), (k, ts, p, None, True)]
                self.rows.pop((k, p), None)
            else:
                marked.append((k, ts, p, v, False))
                self.rows[k, p] = marked[-1]
        self.table.write(marked, options=options)
        return f"mark {options}"

    @property
    def expected(self) -> list[Row]:
        return sorted(row[:4] for row in self.rows.values())


@pytest.mark.parametrize("seed", cases(range(6), [0, 1]))
@pytest.mark.parametrize("ordering", ["ts", ""], ids=["event time", "commit time"])
@pytest.mark.parametrize("version", cases([6, 8, 9], [6, 9]))
def test_after_each_random_write_readers_see_the_rows_of_the_model(
    tmp_path: Path, version: int, ordering: str, seed: int
) -> None:
    chosen = random.Random(f"{version} {ordering} {seed}")
    with_metadata = {"hoodie__metadata__enable": "true"} if seed % 2 else {}
    table = new_log_table(tmp_path / "t", version, **with_metadata)
    table.ordering_field = ordering
    model = Model(table, bool(ordering))
    first: list[Row] = [(k, 5, "ab"[i % 2], "first", False) for i, k in enumerate(KEYS[:12])]
    table.write(first)
    model.rows = {(row[0], row[2]): row for row in first}
    history = []
    for _ in range(TURNS):
        history.append(model.turn(chosen))
        assert table.rows() == model.expected, history
        assert table.leftovers() == set(), history
