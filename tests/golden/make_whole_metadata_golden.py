"""Let a real Hudi release make golden tables with their whole metadata table: one run per release, with PySpark 3.5.

    python make_whole_metadata_golden.py --jar <bundle 0.15.0> --version 6 --base /data/hudi-0.15.0 --out hudi-0.15.0
    python make_whole_metadata_golden.py --jar <bundle 1.0.2> --version 8 --base /data/hudi-1.0.2 --out hudi-1.0.2
    python make_whole_metadata_golden.py --jar <bundle 1.2.0> --version 9 --base /data/hudi-1.2.0 --out hudi-1.2.0

The outcome is ``v<table version>/<table>.tar.xz`` for three tables. ``copy_on_write`` has all indexes and is made by
the recipe of `make_metadata_golden.py`. ``merge_on_read`` has log files, a compaction, a deleted partition and a clean.
``restored`` is restored to a savepoint, and then written again. An archive contains the folder ``.hoodie`` of the
table (without checksums, and without folders that readers do not need), the metadata file of each partition, and
``expected.json`` with the data files and, for ``copy_on_write``, the rows.
"""

import argparse
import json
import shutil
import tarfile
from pathlib import Path

from make_golden import session
from make_metadata_golden import CLEANING, Recipe, add

FEWER_INDEXES = {
    "hoodie.metadata.index.bloom.filter.enable": "false",
    "hoodie.metadata.record.index.enable": "false",
    "hoodie.metadata.global.record.level.index.enable": "false",
}
MERGE_ON_READ = FEWER_INDEXES | {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.compact.max.delta.commits": "5",
    "hoodie.compact.inline": "false",
}
COMPACTION = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
LEFT_OUT = ("/.temp/", "/.heartbeat/", "/.aux/", "/.locks/", "/.schema/", "/archived/", "/history/")


class MergeOnRead(Recipe):
    def run(self) -> None:
        self.options |= MERGE_ON_READ
        self.write(self.rows(range(8), 1), "insert")
        for ts in range(2, 4):
            self.write(self.rows(range(4), ts), "upsert")
        self.write(self.rows(range(2, 6), 4), "upsert", COMPACTION)
        self.write(self.rows(range(3), 5), "upsert")
        gone = {"hoodie.datasource.write.partitions.to.delete": "south"}
        self.write(self.rows(range(1), 6), "delete_partition", gone)
        for ts in range(7, 9):
            self.write(self.rows(range(0, 4, 2), ts), "upsert", CLEANING | COMPACTION)
        self.write(self.rows(range(0, 4, 2), 9), "upsert")

    def expected(self) -> bytes:
        return json.dumps({"files": data_files(self.base)}, indent=1).encode()


class Restored(Recipe):
    def run(self) -> None:
        self.options |= FEWER_INDEXES
        self.write(self.rows(range(6), 1), "insert")
        self.write(self.rows(range(4), 2), "upsert")
        self.sql(f"create table golden using hudi location '{self.base}'")
        saved = f"table => 'golden', commit_time => '{self.instant_of_last_commit()}'"
        self.sql(f"call create_savepoint({saved}, user => 'golden', comments => 'before')")
        for ts in range(3, 5):
            self.write(self.rows(range(2, 8), ts), "upsert")
        self.sql(f"call rollback_to_savepoint({saved.replace('commit_time', 'instant_time')})")
        self.write(self.rows(range(2), 5), "upsert")

    def expected(self) -> bytes:
        return json.dumps({"files": data_files(self.base)}, indent=1).encode()


def data_files(base: Path) -> dict[str, dict[str, int]]:
    """Data files of the table by partition, with their sizes."""
    return {
        folder.name: {
            path.name: path.stat().st_size
            for path in sorted(folder.iterdir())
            if path.suffix != ".crc" and not path.name.startswith(".hoodie_partition_metadata")
        }
        for folder in sorted(base.glob("[!.]*"))
    }


def keep_whole(recipe: Recipe, target: Path) -> None:
    base = recipe.base
    metafiles = base.glob("*/.hoodie_partition_metadata")
    hoodie = (path for path in (base / ".hoodie").rglob("*") if path.is_file() and path.suffix != ".crc")
    with tarfile.open(target, "w:xz", preset=9) as kept:
        for path in sorted([*metafiles, *hoodie]):
            name = path.relative_to(base).as_posix()
            if not any(part in f"/{name}" for part in LEFT_OUT):
                add(kept, name, path.read_bytes())
        add(kept, "expected.json", recipe.expected())


RECIPES = {"copy_on_write": Recipe, "merge_on_read": MergeOnRead, "restored": Restored}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(RECIPES))
    arguments = parser.parse_args()
    spark = session(arguments.jar)
    for name in arguments.tables:
        base = arguments.base / name
        shutil.rmtree(base, ignore_errors=True)
        recipe = RECIPES[name](spark, base, arguments.version)
        recipe.run()
        keep_whole(recipe, arguments.out / f"v{arguments.version}" / f"{name}.tar.xz")
        spark.sql("drop table if exists golden")
    spark.stop()


if __name__ == "__main__":
    main()
