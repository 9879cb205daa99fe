"""What the demo prints: one line a commit, one bar a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.storage.factory import open_storage
from hudi_table_services.storage.snapshot_loader import load_snapshot

_BAR_WIDTH = 40
_MAX_FILE_KIB = 128


class NamedLoad(Protocol):
    """What a commit loaded."""

    name: str
    is_correction: bool


def print_heading(text: str) -> None:
    """A blank line and a title."""
    print(f"\n{text}\n{'─' * len(text)}", flush=True)


def print_commits(loads: Sequence[NamedLoad], results: Sequence[JobResult]) -> None:
    """Per commit: what was padded, what opened, what was only rewritten, and how good the size estimate was."""
    print_heading("What each commit did")
    print("  day          inserted updated  padded opened rewritten  bytes/row: estimate  truth")
    for load, result in zip(loads, results, strict=True):
        padded = sum(len(p.padded) for p in result.partitions)
        opened = sum(len(p.opened) for p in result.partitions)
        rewritten = sum(len(p.rewritten) for p in result.partitions)
        last = result.partitions[-1]
        print(
            f"  {load.name}{'*' if load.is_correction else ' '} {result.rows.inserted:>9} {result.rows.updated:>7} "
            f"{padded:>7} {opened:>6} {rewritten:>9}  {last.record_size_bytes:>19.1f} "
            f"{last.measured_record_size_bytes or 0:>6.1f}"
        )
    print("  * the same day again, with corrected delays")


def print_files(base_path: Path) -> None:
    """The live files of each partition as bars; the mark at the end is the size they should reach."""
    print_heading(f"Files per partition ({_MAX_FILE_KIB} KiB is the size they should reach)")
    snapshot = load_snapshot(open_storage(str(base_path)))
    for partition in snapshot.partitions:
        slices = sorted(snapshot.slices_of(partition), key=lambda s: -s.size_bytes)
        print(f"  {partition}: {len(slices)} files")
        for file_slice in slices:
            kib = file_slice.size_bytes / 1024
            filled = min(_BAR_WIDTH, round(_BAR_WIDTH * kib / _MAX_FILE_KIB))
            bar = "█" * filled + "·" * (_BAR_WIDTH - filled)
            print(f"    {bar}▏{kib:6.1f} KiB  {file_slice.file_group_id.file_id[:8]}")


def print_next_steps(output: Path, base_path: Path) -> None:
    """Commands to go on with."""
    print_heading("What to try next")
    name = output.name
    print(
        f"  .venv/bin/python spark_jobs/upsert_with_sizing.py --request {name}/request.json   # writes nothing again"
    )
    print("  .venv/bin/python spark_jobs/upsert_with_sizing.py --help")
    print(
        f"  ls {name}/{base_path.name}/.hoodie                                                # the table's timeline"
    )
    print(
        "  make test                                                                      # real Hudi as judge"
    )
